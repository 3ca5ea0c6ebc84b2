# SPDX-License-Identifier: MIT
#
# Sourced after common.sh: configuring and compiling.
# shellcheck shell=bash

# configure FOLDER COMPILER OPTION...: set the build folder up, or bring its options up to date.
# Where ccache is installed, it is used.
configure() {
    local folder=$1 compiler=$2
    shift 2
    if [[ -e $folder && ! -w $folder ]]; then
        die "$folder belongs to $(stat -c %U "$folder"): remove it, or run as that user"
    fi
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
