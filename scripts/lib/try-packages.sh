#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: try-packages.sh PACKAGES FOLDER RELEASE
#
# For scripts/package --try, in namespaces of its own: makes a root of the release in FOLDER, installs the
# packages libunstall0 and unstall of the folder PACKAGES there by apt, runs their test (debian/tests/cures)
# and the demonstration with the installed files, and removes them.  Ends with 1 if anything of them is left.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
source "$(dirname -- "$0")/common.sh"
# shellcheck source=scripts/lib/root.sh
source "$ROOT/scripts/lib/root.sh"
packages=$1 folder=$2 release=$3
root=$folder/root

say "making a root of $release"
make_root "$root" "$release" --variant=minbase \
    --include=nginx-light,perl-base,procps,python3,strace,util-linux
furnish "$root"

# Where they do not matter: below the folders that dpkg and apt write.
files() {
    (cd -- "$root" && find usr etc opt var/lib/unstall* run -xdev \
        ! -path 'usr/lib/python3*/__pycache__*' ! -name ld.so.cache -print 2>/dev/null || true) | sort
}

mkdir -- "$root/packages" "$root/tree"
cp -t "$root/packages" -- "$packages"/libunstall0_*.deb "$packages"/unstall_*.deb
cp -r -t "$root/tree" -- "$ROOT/debian" "$ROOT/scripts"
files >"$folder/before"

say "installing the packages"
quietly inside apt-get update
# The packages themselves come from the folder, only their dependencies from its source.
needs=$(for package in "$root"/packages/*.deb; do dpkg-deb -f "$package" Depends; done |
    tr ',' '\n' | sed 's/[|(].*//; s/ //g' | grep -v '^libunstall0$' | sort -u)
# shellcheck disable=SC2086 # words
quietly inside apt-get install --yes --no-install-recommends $needs
files >"$folder/with-needs"
quietly inside sh -c 'apt-get install --yes --no-install-recommends /packages/*.deb'
inside unstall --version

say "debian/tests/cures"
inside /tree/debian/tests/cures
say "scripts/demo --installed"
inside /tree/scripts/demo --installed --exchanges 50

say "removing the packages"
quietly inside apt-get purge --yes unstall libunstall0
files >"$folder/after"
left=$(comm -13 "$folder/with-needs" "$folder/after")
[[ -z $left ]] || die "left behind: $left"
say "installed, cured, removed without a trace"
