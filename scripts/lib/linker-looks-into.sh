#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Does the dynamic linker look into this folder, so that a bare LD_PRELOAD=libunstall.so finds the
# library there once ldconfig has run?  The folder need not be there yet, and may be named through a
# link (/lib -> /usr/lib).
set -eu

PATH=$PATH:/usr/sbin:/sbin
# /folder: (from file)  or, on stderr,  ldconfig: Can't stat /folder: No such file or directory
ldconfig -v -N -X 2>&1 |
    sed -n "s/^\(.*Can't stat \)\{0,1\}\(\/[^:]*\):.*/\2/p" |
    xargs readlink -m |
    grep -xF -e "$(readlink -m "$1")" >/dev/null
