#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# story.sh PORT: the lines of the picture in README.md, from real runs: a client of nginx is slow, `unstall
# observe` says why, and under `unstall run` it is fast.  `unstall` is in PATH, client.py in this folder.
set -euo pipefail
TIMEFORMAT='took %2R s'

types() {
    printf '%s %s\n' '$' "$*"
    eval "$*" 2>&1
}

client="./client.py $1 100 >/dev/null"
types "time $client"
echo
types "unstall observe -- $client"
echo
types "time unstall run -- $client"
