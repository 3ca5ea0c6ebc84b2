#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER: Puma from Debian's source package into FOLDER, as its gem for JRuby has it.  Debian's
# binary package is for Ruby's own interpreter and leaves out the parser in Java.
set -euo pipefail
cd -- "$1"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mkdir -p apt/lists/partial apt/archives/partial classes

# The archives of the package, as `address suite component`; the oldest version comes last.
mapfile -t archives < <(apt-cache policy puma |
    sed -nE 's|^ +[0-9]+ (http[^ ]+) ([^ /]+)/([^ ]+) .*|\1 \2 \3|p')
signed=
[[ ! -e $keys ]] || signed="[signed-by=$keys] "

from_source() {
    apt-get -qq -o Dir::Etc::SourceList="$PWD/apt/sources" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt" "$@"
}

# A mirror may lack the sources of one archive and have the other's; the upstream part is the same.
for ((at = ${#archives[@]} - 1; at >= 0; at--)); do
    echo "deb-src $signed${archives[at]}" >apt/sources
    if from_source update && from_source source --download-only puma; then
        break
    fi
done
tar -xzf puma_*.orig.tar.gz --strip-components=1
rm -rf apt

jruby=$(dirname -- "$(readlink -f "$(command -v jruby)")")/../lib/jruby.jar
javac -nowarn -d classes -cp "$jruby:/usr/share/java/*" \
    ext/puma_http11/PumaHttp11Service.java ext/puma_http11/org/jruby/puma/*.java
jar cf lib/puma/puma_http11.jar -C classes .
