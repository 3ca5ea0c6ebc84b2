#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Usage: unshare --mount --propagation private page.sh FOLDER PLACE PACKAGES
#
# Runs PLACE/blocks beside PLACE/app and the packages, in a root of its own.
set -euo pipefail
folder=$1 place=$2 packages=$3

# shellcheck source=tests/deploy/overlay.sh
source "$(dirname -- "$0")/overlay.sh"
mkdir -p "$root/place/build-packages"
cp "$place/blocks" "$place/app" "$root/place"
cp "$packages"/*.deb "$root/place/build-packages"
inside bash -euxc 'cd /place; . ./blocks' 2>&1
