#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER: Puma from Debian's source package into FOLDER, as its gem for JRuby has it.  Debian's
# binary package is for Ruby's own interpreter and leaves out the parser in Java.
set -euo pipefail
# shellcheck source=scripts/lib/debian-source.sh
source "$(dirname -- "$0")/../../../scripts/lib/debian-source.sh"
cd -- "$1"
debian_source puma

mkdir classes
jruby=$(dirname -- "$(readlink -f "$(command -v jruby)")")/../lib/jruby.jar
javac -nowarn -d classes -cp "$jruby:/usr/share/java/*" \
    ext/puma_http11/PumaHttp11Service.java ext/puma_http11/org/jruby/puma/*.java
jar cf lib/puma/puma_http11.jar -C classes .
