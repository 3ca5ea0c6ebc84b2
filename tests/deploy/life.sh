#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: unshare --mount --propagation private life.sh FOLDER OLDER NEWER RESULTS DEBIAN
#
# Installs the packages in OLDER, upgrades to those in NEWER, runs the test of the packages, removes and
# purges them, in a root of its own: this machine's under an overlay in memory.  DEBIAN is the folder debian/.
# Into RESULTS go lists of the files that each step has added to the machine's, changed and taken away.  With
# the mount namespace all of it ends.  When the packages are removed, a service still has its drop-in.
set -euo pipefail
folder=$1 older=$2 newer=$3 results=$4

# shellcheck source=tests/deploy/overlay.sh
source "$(dirname -- "$0")/overlay.sh"
mkdir -p "$root/packages"
mount -t tmpfs tmpfs "$root/packages"
mkdir "$root"/packages/{older,newer}
cp "$older"/*.deb "$root/packages/older"
cp "$newer"/*.deb "$root/packages/newer"

# list STEP: "added|changed|gone PATH" for each file; an overlay marks what is gone by a device 0:0.
list() {
    local path
    find "$folder/upper" -mindepth 1 ! -type d ! -path "$folder/upper/packages*" -printf '%y /%P\n' |
        while read -r kind path; do
            if [[ $kind == c ]]; then
                echo "gone $path"
            elif [[ -e $path || -L $path ]]; then
                cmp -s "$path" "$folder/upper$path" || echo "changed $path"
            else
                echo "added $path"
            fi
        done | sort >"$results/$1"
}

names=(libunstall0 unstall unstall-analysis)
install() {
    inside sh -c "dpkg -i /packages/$1/libunstall0_*.deb /packages/$1/unstall_*.deb \
        /packages/$1/unstall-analysis_*.deb" >>"$results/dpkg" 2>&1
}

install older
list installed
inside dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' "${names[@]}" >"$results/versions-older"
install newer
list upgraded
inside dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' "${names[@]}" >"$results/versions-newer"
inside dpkg --verify "${names[@]}" >"$results/verified"
inside unstall --version >"$results/version"
mkdir "$root/packages/tree"
cp -r "$5" "$root/packages/tree/debian"
cp -r "$5/../scripts" "$root/packages/tree/scripts"
inside /packages/tree/debian/tests/cures >"$results/cures" 2>&1 || echo "failed" >>"$results/cures"
inside /packages/tree/scripts/demo --installed --exchanges 50 >"$results/demo" 2>&1 ||
    echo "failed" >>"$results/demo"
dropin=/etc/systemd/system/app.service.d/50-unstall.conf
inside sh -c "mkdir -p ${dropin%/*} && echo '[Service]' >$dropin"
inside dpkg -r "${names[@]}" >"$results/removal" 2>&1
list removed
inside dpkg -P "${names[@]}" >>"$results/dpkg" 2>&1
list purged
inside dpkg-query -W -f '${Package}\n' '*unstall*' >"$results/left" 2>/dev/null || true
