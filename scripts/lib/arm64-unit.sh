#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: scripts/lib/arm64-unit.sh
#
# Runs the unit tests for arm64 under qemu-user (scripts/arch --unit arm64).  Criterion and the libraries of
# the command come from Debian's packages for arm64, unpacked below build-arm64-unit/: nothing is installed.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname -- "$0")/common.sh"

FOLDER=$ROOT/build-arm64-unit
LIBRARIES=$FOLDER/root
PACKAGES=(libcriterion-dev libc6-dev libdw-dev libelf-dev libpcap-dev libncurses-dev)
LIMIT_S=120 # a program of tests

# Where qemu-user 7.2 differs from a kernel: program, pattern of its tests | why.
OTHERWISE='
window::*                                             | refuses a clone(2) without CLONE_SYSVSEM
raw_thread::*                                         | the same
process::a_child_of_a_process_in_exec_holds           | the same
reentry::a_handlers_sendfile_*                        | has no process_vm_readv(2) and no preadv2(2)
kernel::flags_of_a_send                               | gives four bytes of TCP_INFO
clock::is_the_kernels                                 | has no vDSO
modules::a_long_path                                  | shows pages without and with code as one mapping
modules::noted_twice                                  | the same
readable::stack_data_and_heap_are_told_without_the_kernel | puts the parts of a program elsewhere
'

unpack() {
    local apt=$FOLDER/apt archive
    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial} "$LIBRARIES.new"
    : >"$apt/status"
    cat >"$apt/conf" <<EOF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
EOF
    APT_CONFIG=$apt/conf quietly apt-get update || return 1
    APT_CONFIG=$apt/conf quietly apt-get -y --no-install-recommends --download-only \
        install "${PACKAGES[@]}" || return 1
    for archive in "$apt"/cache/archives/*.deb; do
        dpkg-deb -x "$archive" "$LIBRARIES.new"
    done
    mv "$LIBRARIES.new" "$LIBRARIES"
}

configure_and_build() {
    cat >"$FOLDER/libraries.ini" <<EOF
[binaries]
c = ['aarch64-linux-gnu-gcc', '--sysroot=$LIBRARIES']
exe_wrapper = ['qemu-aarch64', '-L', '$LIBRARIES']
[properties]
sys_root = '$LIBRARIES'
pkg_config_libdir = '$LIBRARIES/usr/lib/aarch64-linux-gnu/pkgconfig'
EOF
    [[ -f $FOLDER/build.ninja ]] ||
        quietly meson setup --cross-file "$ROOT/data/cross/arm64.ini" --cross-file "$FOLDER/libraries.ini" \
            -Dtests=enabled -Dman=disabled -Dexact=disabled -Dsupervisor=disabled "$FOLDER" "$ROOT"
    mapfile -t programs < <(ninja -C "$FOLDER" -t targets all |
        sed -n 's,^\(tests/unit/test-[a-z0-9_]*\):.*,\1,p')
    quietly ninja -C "$FOLDER" "${programs[@]}"
    aarch64-linux-gnu-gcc --sysroot="$LIBRARIES" -std=gnu17 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror \
        -shared -fPIC "$ROOT/tests/arch/qemu_exec.c" -o "$FOLDER/qemu_exec.so"
}

# expected TEST: whether qemu-user is why it fails.
expected() {
    local pattern
    while read -r pattern _; do
        # shellcheck disable=SC2053 # a pattern
        [[ -n $pattern && $1 == $pattern ]] && return 0
    done <<<"$OTHERWISE"
    return 1
}

# said_by PROGRAM: the output of the program of tests.  `libc_symbols` looks for libraries beside libc: there
# the preloaded one is not in the process of a test.
said_by() {
    local once=()
    [[ $1 != */test-libc_symbols ]] || once=(ARCH_EXEC_ONCE=1)
    env "${once[@]}" QEMU_LD_PREFIX="$LIBRARIES" ARCH_QEMU="$(command -v qemu-aarch64)" \
        timeout -k 5 "$LIMIT_S" qemu-aarch64 -E LD_PRELOAD="$FOLDER/qemu_exec.so" "$FOLDER/$1" --jobs=1 \
        >"$FOLDER/said" 2>&1 </dev/null || true
    cat "$FOLDER/said"
}

mkdir -p "$FOLDER"
[[ -d $LIBRARIES ]] || unpack || die "the packages of arm64 did not come"
configure_and_build || die "the unit tests do not build"

passed=0 otherwise=0 failed=()
for program in "${programs[@]}"; do
    said=$(said_by "$program")
    if ! [[ $said =~ Tested:\ ([0-9]+)\ \|\ Passing:\ ([0-9]+) ]]; then
        failed+=("$program (said no sum)")
        continue
    fi
    tested=${BASH_REMATCH[1]} good=${BASH_REMATCH[2]} known=0
    # shellcheck disable=SC2013 # names have no blanks
    for test in $(sed -n 's/^\[\(FAIL\|CRASH\)\] \([a-z0-9_]*::[a-z0-9_]*\).*/\2/p' <<<"$said" | sort -u); do
        if expected "$test"; then
            known=$((known + 1))
        else
            failed+=("$test")
        fi
    done
    passed=$((passed + good)) otherwise=$((otherwise + known))
    ((good + known == tested)) || [[ ${#failed[@]} -gt 0 ]] ||
        failed+=("$program (not every test told its end)")
done
echo "arm64, unit: $passed passed, $otherwise failed as qemu-user must, ${#failed[@]} failed"
((${#failed[@]} == 0)) || die "${failed[*]}"
