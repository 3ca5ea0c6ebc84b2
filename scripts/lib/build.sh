# SPDX-License-Identifier: MIT
#
# Sourced after common.sh: configuring and compiling.
# shellcheck shell=bash

# for_everybody FOLDER: tests drop root's rights and read the build then.  Below a folder that others may not
# enter, as /root, it is a link to where they may.
for_everybody() {
    local folder place
    folder=$(realpath -ms -- "$1") place=/var/cache/unstall$folder
    ((EUID == 0)) && [[ ! -e $folder ]] || return 0
    ! setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$ROOT" 2>/dev/null || return 0
    say "others may not read $ROOT: $folder is a link to $place"
    (umask 022 && mkdir -p -- "$place") && ln -sfn -- "$place" "$folder"
}

# configure FOLDER COMPILER OPTION...: set the build folder up, or bring its options up to date.
# Where ccache is installed, it is used.
configure() {
    local folder=$1 compiler=$2
    shift 2
    if [[ -e $folder && ! -w $folder ]]; then
        die "$folder belongs to $(stat -c %U "$folder"): remove it, or run as that user"
    fi
    for_everybody "$folder"
    if [[ ! -f $folder/build.ninja ]]; then
        ! command -v ccache >/dev/null || compiler="ccache $compiler"
        CC=$compiler quietly meson setup "$@" "$folder" "$ROOT"
    else
        quietly meson configure "$folder" "$@" && quietly ninja -C "$folder" build.ninja
    fi
}

# compile FOLDER [TARGET...]: prints only errors and warnings.
compile() {
    local folder=$1
    shift
    ninja -C "$folder" --quiet "$@" | sed '/^ninja: no work to do/d'
}
