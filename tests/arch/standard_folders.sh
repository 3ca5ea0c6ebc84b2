#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: unshare --mount --propagation private standard_folders.sh FOLDER PREFIX FOLDER-OF-32 RESULTS
#
# Runs the programs of PREFIX/bin by the entries of LD_PRELOAD that docs/architectures.md lists, with the
# libraries of PREFIX in the standard folders of this machine's linkers, as packages put them: first that of
# 64 bits alone, then both.  RESULTS/WHICH,ENTRY,PROGRAM has what the program and ld.so have printed.
set -euo pipefail
folder=$1 prefix=$2 of_32=$3 results=$4

# shellcheck source=tests/deploy/overlay.sh
source "$(dirname -- "$0")/../deploy/overlay.sh"
mkdir "$root/programs"
cp "$prefix"/bin/* "$root/programs"
chown 65534:65534 "$root/programs/setuid"
chmod 4755 "$root/programs/setuid"
of_64=lib/$(gcc -print-multiarch)
[[ -e $prefix/$of_64/libunstall.so ]]

# all WHICH
all() {
    local name program
    local -A entry=([full]=/usr/$of_64/libunstall.so [bare]=libunstall.so [lib]='/usr/$LIB/libunstall.so')
    inside ldconfig
    for name in "${!entry[@]}"; do
        for program in of-64 of-32 static setuid; do
            inside env "LD_PRELOAD=${entry[$name]}" "/programs/$program" >"$results/$1,$name,$program" 2>&1 &
        done
    done
    wait
}

cp "$prefix/$of_64/libunstall.so" "$root/usr/$of_64"
all 64
cp "$prefix/$of_32/libunstall.so" "$root/usr/$of_32"
all both
