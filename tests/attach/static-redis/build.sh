#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER: a statically linked redis-server from Debian's source package into FOLDER.  Debian's binary
# package is linked dynamically.  Ends with 3 if the source cannot be fetched.
set -euo pipefail
# shellcheck source=scripts/lib/debian-source.sh
source "$(dirname -- "$0")/../../../scripts/lib/debian-source.sh"
cd -- "$1"
mkdir source
cd source
debian_source redis || exit 3
make -s -C src redis-server MALLOC=libc BUILD_TLS=no USE_SYSTEMD=no OPTIMIZATION=-O0 LDFLAGS=-static
mv src/redis-server ..
cd ..
rm -r source
