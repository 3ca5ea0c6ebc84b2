# SPDX-License-Identifier: MIT
#
# Sourced by the scripts: where things are, and how to say so.
# shellcheck shell=bash

# shellcheck disable=SC2034 # used by those who source this
ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)

# The programs of administrators (nginx, tcpdump, ldconfig) are not in every user's PATH.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

# Debian's python3, also if another comes first in PATH: the packages belong to it.
# shellcheck disable=SC2034 # used by those who source this
PYTHON=/usr/bin/python3
# shellcheck disable=SC2034
GCC=/usr/bin/gcc

say() {
    printf '%s: %s\n' "${0##*/}" "$*"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# quietly COMMAND...: prints the command's output only if it fails.
quietly() {
    local said
    if ! said=$("$@" 2>&1); then
        printf '%s\n' "$said" >&2
        return 1
    fi
}

# how_much PACKAGE...: what apt would install for them, in its own numbers.
how_much() {
    { LC_ALL=C apt-get --assume-no -o Debug::NoLocking=1 install --no-install-recommends "$@" 2>/dev/null ||
        true; } | sed -nE 's/^[0-9]+ upgraded, ([0-9]+) newly installed.*/\1 packages/p
            s/^Need to get ([^ /]+ [kMG]?B)[ /].*/\1 to download/p
            s/^After this operation, ([^ ]+ [kMG]?B) of additional.*/\1 on the disk/p' | paste -sd , |
        sed 's/,/, /g'
}

# help_from_head: the comment block at the head of the calling script, but for the licence.
help_from_head() {
    sed -n '/^# SPDX/,/^[^#]/{/^# SPDX/d;/^[^#]/d;s/^# \{0,1\}//;p;}' "$0" | sed '1{/^$/d;}'
}
