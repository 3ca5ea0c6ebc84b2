#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: in-release.sh whole|quick FOLDER RELEASE
#
# For scripts/releases, in namespaces of its own: makes the root FOLDER/root of the release and does in it
# what that script says.  FOLDER/bundle has the commit for whole.  FOLDER/sum gets the numbers of passed and
# failed cases, FOLDER/row the cells of the row, FOLDER/logs the output.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname -- "$0")/common.sh"
# shellcheck source=scripts/lib/root.sh
source "$ROOT/scripts/lib/root.sh"
kind=$1 folder=$2 release=$3
trusted=/usr/local/share/ca-certificates
root=$folder/root
logs=$folder/logs
mkdir -- "$logs"

# as_user COMMAND: in the login shell of an ordinary user.
as_user() {
    inside runuser --login user --command "$1"
}

# system: what the release is, for a row.
system() {
    # shellcheck disable=SC2016 # the inner shell expands
    inside sh -c '. /etc/os-release; getconf GNU_LIBC_VERSION; gcc -dumpfullversion; python3 --version;
        uname -r; echo "$PRETTY_NAME"' | paste -sd '|' |
        sed -E 's/(.*)\|(.*)\|Python (.*)\|([0-9.]*).*\|(.*)/\5: \1, gcc \2, Python \3, Linux \4/'
}

whole() {
    local command good passed=0 failed=0
    say "$release: making a root"
    make_root "$root" "$release" --variant=minbase --include=git,sudo
    furnish "$root"
    # As apt's proxy: whose certificates are trusted here is trusted there, once setup brings ca-certificates.
    [[ ! -d $trusted || $trusted -ef $root$trusted ]] || cp -r -- "$trusted" "$root${trusted%/*}/"
    inside useradd --create-home --shell /bin/bash user
    echo 'user ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/user"
    echo LANG=C.UTF-8 >"$root/etc/default/locale"
    cp -- "$folder/bundle" "$root/tmp/unstall"
    as_user 'git -c init.defaultBranch=main -c advice.detachedHead=false clone --quiet /tmp/unstall unstall'
    for command in demo test; do
        say "$release: scripts/$command"
        good=1
        as_user "cd unstall && scripts/$command" 2>&1 | tee "$logs/$command" || good=0
        tail -n 1 "$logs/$command" >"$folder/$command"
        if [[ $command == test && $(<"$folder/test") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
            passed=$((passed + BASH_REMATCH[1]))
            failed=$((failed + BASH_REMATCH[2]))
            ((good == 1 || BASH_REMATCH[2] > 0)) || failed=$((failed + 1))
        else
            passed=$((passed + good))
            failed=$((failed + 1 - good))
        fi
        ((good == 1)) || sed -i 's/^/**failed:** /' "$folder/$command"
    done
    cp -r -- "$root"/home/user/unstall/build/{meson-logs,reports} "$logs/" || true
    { system; cat "$folder/demo" "$folder/test"; echo $(((SECONDS + 59) / 60)); } >"$folder/row"
    echo "$passed $failed" >"$folder/sum"
}

# What the root of quick has: a system that can run the tests, the compiler, the libraries of the command.
PACKAGES=(base-files base-passwd bash coreutils dash debianutils diffutils findutils grep hostname libc-bin
    mawk netbase perl-base sed tar util-linux
    gcc libc6-dev meson ninja-build pkg-config dpkg-dev python3 scdoc libelf-dev libdw-dev libpcap-dev
    libiberty-dev libncurses-dev clang libbpf-dev bpftool zlib1g-dev libseccomp-dev liburing-dev
    binutils libcriterion-dev libgc-dev libmodbus-dev python3-pytest strace musl-tools musl-dev procps
    iproute2 mount tcpdump sudo)
# Left out is what would bring Java, Node or Rust, and what is of the newest libc on each system.
WITHOUT_TEST=abi_newest_libc
WITHOUT=('preload/test_clean.py::test_runtime_has_no_other_descriptors_threads_files_or_output[java]'
    'preload/test_clean.py::test_runtime_has_no_other_descriptors_threads_files_or_output[node]'
    'abi/test_every_name.py::test_gives_what_it_gives_bare_with_the_newest_libc')

# programs: those that the tests of the suites left out compile when they run, by the options of the harness.
programs() {
    inside sh -c 'cd /unstall/tree/tests && find arch attach cli company experiments reach victims \
        -name "*.c" -print0 | xargs -0 -P "$(nproc)" -n 1 gcc -std=gnu17 -D_GNU_SOURCE -O1 -g \
        -U_FORTIFY_SOURCE -Wall -Wextra -Werror -pthread -Ipreload/programs -I../src/stats_file \
        -c -o /dev/null'
}

quick() {
    say "$release: unpacking a root"
    make_root "$root" "$release" --variant=extract --include="$(IFS=, && echo "${PACKAGES[*]}")"
    furnish "$root"
    # Nothing is configured: what the tests need of that.
    cp -- "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
    cp -- "$root/usr/share/base-passwd/group.master" "$root/etc/group"
    ln -sf mawk "$root/usr/bin/awk"
    inside ldconfig
    mkdir -p -- "$root/unstall/tree" "$root/unstall/build" # one folder: there pytest looks for conftest.py
    mount --bind "$ROOT" "$root/unstall/tree"
    mount -o remount,bind,ro "$root/unstall/tree"
    say "$release: $(system), after $SECONDS s"

    local outcome=passed cases=() tests
    if quietly inside meson setup -Dwerror=true -Dtests=enabled -Dman=enabled -Dexact=enabled \
        -Dsupervisor=enabled /unstall/build /unstall/tree && inside ninja -C /unstall/build --quiet -k 0; then
        cases+=(--case "the build:passed")
    else
        cases+=(--case "the build:failed")
    fi
    if programs; then
        cases+=(--case "programs of other suites:passed")
    else
        cases+=(--case "programs of other suites:failed")
    fi
    say "$release: built, after $SECONDS s"
    mkdir -p -- "$root/unstall/build/reports"
    if [[ ${cases[*]} != *"the build:failed"* ]]; then
        readarray -t tests < <(inside /usr/bin/python3 -B /unstall/tree/scripts/lib/list-tests.py all \
            /unstall/build unit abi preload | grep -vx "$WITHOUT_TEST")
        inside env UNSTALL_TESTS_MUST_RUN=1 UNSTALL_TESTS_QUICK=1 \
            PYTEST_ADDOPTS="${WITHOUT[*]/#/--deselect=tree/tests/}" \
            meson test -C /unstall/build --no-rebuild --print-errorlogs --timeout-multiplier 4 \
            --num-processes "$((5 * $(nproc) + 1))" "${tests[@]}" >"$logs/test" 2>&1 || outcome=failed
    fi
    inside /usr/bin/python3 -B /unstall/tree/scripts/lib/count-cases.py --outcome "$outcome" \
        --skipped-is-failed "${cases[@]}" /unstall/build | tee "$logs/count" || true
    say "$release: left out: $WITHOUT_TEST ${WITHOUT[*]##*/}; after $SECONDS s"
    sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$logs/count" >"$folder/sum"
}

"$kind"
