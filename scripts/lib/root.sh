# SPDX-License-Identifier: MIT
#
# Sourced after common.sh: a root of another release, or of this one, in a folder.  mmdebstrap makes it from
# the package source of this machine, as apt knows it.  Those who enter it are in namespaces of their own
# (apart), with which all mounts and processes end.
# shellcheck shell=bash

# package_source: the address of the distribution's packages.  Of apt's sources those of this release come
# first, then those of the distribution; never its updates or another's packages.
package_source() {
    local own
    own=$(. /etc/os-release && echo "${VERSION_CODENAME:-none}")
    # shellcheck disable=SC2016 # apt's words
    apt-get indextargets --format '$(RELEASE) $(REPO_URI) $(ORIGIN)' 'Created-By: Packages' |
        awk -v own="$own" '$1 == own { first = $2; exit }
            second == "" && $1 !~ /[-\/]/ && $3 ~ /^(Debian|Ubuntu)$/ { second = $2 }
            END { sub("/$", "", first); sub("/$", "", second); print first ? first : second }'
}

# Namespaces of their own for those who make a root and enter it.
APART=(unshare --mount --pid --fork --ipc --uts --cgroup --propagation private --kill-child)

# may_make_roots RELEASE...: ends with one line where something is missing, before any work.
may_make_roots() {
    local said source release
    for release in "$@"; do
        [[ $release =~ ^[a-z][a-z0-9.-]*$ ]] || die "'$release' is no name of a release, such as trixie"
    done
    ((EUID == 0)) || die "only root may make a root of a release: sudo ${0##*/} (or as root)"
    command -v mmdebstrap >/dev/null || die "mmdebstrap is missing; apt-get install mmdebstrap"
    said=$("${APART[@]}" mount -t tmpfs tmpfs /mnt 2>&1) ||
        die "no right to make a root here (namespaces and mounts): $(head -n 1 <<<"$said")"
    source=$(package_source)
    [[ -n $source ]] || die "apt knows no package source of Debian or Ubuntu here (/etc/apt)"
    for release in "$@"; do
        has_release "$source" "$release" || exit 1
    done
}

# has_release SOURCE RELEASE: says why not.
has_release() (
    place=$(mktemp)
    trap 'rm -f -- "$place"' EXIT
    said=$(/usr/lib/apt/apt-helper -o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
        download-file "$1/dists/$2/InRelease" "$place" 2>&1) && return
    [[ $said != *" 404 "* && $said != *"File not found"* ]] || die "$1 has no release $2"
    die "no way to the package source $1: $(sed -n 's/^E: //p' <<<"$said" | head -n 1)"
)

# make_root FOLDER RELEASE OPTION...: options of mmdebstrap.  The settings of apt that lead to the source (a
# proxy) are those of this machine.  A root lives for one run: dpkg need not wait for the disk.  mmdebstrap
# leaves a folder of keys in TMPDIR when it is killed: beside the root it goes with it.
make_root() {
    local folder=$1 release=$2 setting options=()
    shift 2
    while read -r setting; do
        options+=(--aptopt="$setting")
    done < <(apt-config dump | grep -E '^Acquire::(https?::|Check-)' || true)
    TMPDIR=$(dirname -- "$folder") quietly mmdebstrap "${options[@]}" --dpkgopt=force-unsafe-io "$@" \
        "$release" "$folder" "$(package_source)"
}

# furnish ROOT: what programs expect of a machine, in a mount namespace of its own.
furnish() {
    local root=$1 device
    mount --rbind "$root" "$root"
    mount -o remount,bind,suid,dev,exec "$root" # also where the folder above has none of them
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mount -t bpf bpf "$root/sys/fs/bpf"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for device in null zero full random urandom tty fuse; do
        [[ -e /dev/$device ]] || continue
        : >"$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    mkdir "$root"/dev/{pts,shm}
    mount -t devpts -o newinstance,mode=620,gid=5,ptmxmode=666 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s /proc/self/fd/0 "$root/dev/stdin"
    ln -s /proc/self/fd/1 "$root/dev/stdout"
    ln -s /proc/self/fd/2 "$root/dev/stderr"
    cp --remove-destination -- /etc/resolv.conf "$root/etc/resolv.conf"
    printf '127.0.0.1 localhost %s\n::1 localhost\n' "$(uname -n)" >"$root/etc/hosts"
}

# inside COMMAND...: as root in $root, when it is furnished.  It becomes the root of a mount namespace: after
# chroot(2) alone no user namespace may be made.
inside() {
    # shellcheck disable=SC2154,SC2016 # the caller's root; the inner shell expands
    unshare --mount sh -c 'cd "$0" && mount --move . / && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot . "$@"' "$root" "$@"
}
