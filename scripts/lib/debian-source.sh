# SPDX-License-Identifier: MIT
#
# Sourced: the upstream part of Debian's source packages.
# shellcheck shell=bash

# debian_source PACKAGE: unpacks it into this folder.  Nothing of apt's own configuration is changed.
debian_source() {
    local package=$1 archives signed='' keys=/usr/share/keyrings/debian-archive-keyring.gpg at
    # The archives of the package, as `address suite component`; the oldest version comes last.
    mapfile -t archives < <(apt-cache policy "$package" |
        sed -nE 's|^ +[0-9]+ (http[^ ]+) ([^ /]+)/([^ ]+) .*|\1 \2 \3|p')
    [[ ! -e $keys ]] || signed="[signed-by=$keys] "
    mkdir -p apt/lists/partial apt/archives/partial
    # A mirror may lack the sources of one archive and have the other's; the upstream part is the same.
    for ((at = ${#archives[@]} - 1; at >= 0; at--)); do
        echo "deb-src $signed${archives[at]}" >apt/sources
        if apt_for_sources update && apt_for_sources source --download-only "$package"; then
            break
        fi
    done
    tar -xzf "$package"_*.orig.tar.gz --strip-components=1 || return
    rm -rf apt
}

apt_for_sources() {
    apt-get -qq -o Dir::Etc::SourceList="$PWD/apt/sources" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt" "$@"
}
