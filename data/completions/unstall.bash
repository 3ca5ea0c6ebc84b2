# SPDX-License-Identifier: MIT
#
# Completion of unstall(1) for bash, from the command's --help, which has one form for all verbs:
# "  --option VALUE  a description, or the possible words".
# shellcheck shell=bash

_unstall_modes='off observe nodelay cork coalesce auto'

# The lines of options of a verb's --help.
_unstall_options() {
    "${COMP_WORDS[0]}" ${1:+"$1"} --help 2>/dev/null | sed -n 's/^  \(--[a-z]\)/\1/p'
}

# What may follow an option: the line about it is $1.
_unstall_values() {
    local line=$1 cur=$2 metavar words
    case $line in
        --unit\ *) mapfile -t COMPREPLY < <(compgen -W "$(_unstall_units)" -- "$cur") && return ;;
        --container\ *) mapfile -t COMPREPLY < <(compgen -W "$(_unstall_containers)" -- "$cur") && return ;;
        --arms\ *)
            words=
            [[ $cur != *,* ]] || words=${cur%,*},
            mapfile -t COMPREPLY < <(compgen -P "$words" -W "$_unstall_modes" -- "${cur##*,}") && return
            ;;
    esac
    metavar=$(sed -nE 's/^--[a-z-]+ ([^ ]+)  .*/\1/p' <<<"$line")
    words=$(sed -nE 's/^--[a-z-]+ [^ ]+  +([a-z0-9]+(, [a-z0-9]+)*,? or [a-z0-9]+)($|[:;]).*/\1/p' <<<"$line")
    case $metavar in
        *DIR*) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
        *FILE* | *WHERE*) mapfile -t COMPREPLY < <(compgen -W stderr -f -- "$cur") ;;
        *) words=${words//,/ }; mapfile -t COMPREPLY < <(compgen -W "${words/ or / }" -- "$cur") ;;
    esac
}

# The ids of processes that can be looked at.
_unstall_processes() {
    local maps
    for maps in /proc/[0-9]*/maps; do
        if [[ -O $maps || $EUID == 0 ]]; then
            maps=${maps#/proc/}
            printf '%s\n' "${maps%/maps}"
        fi
    done
}

# Services and processes that have statistics.
_unstall_watched() {
    local file pid
    for file in /run/unstall/*/; do
        [[ ! -d $file ]] || basename "$file"
    done
    for file in {/run/unstall/*,/dev/shm/unstall,"${UNSTALL_STATS:-/dev/shm/unstall}"}/*.unstall; do
        pid=${file##*/}
        pid=${pid%%-*}
        [[ ! -d /proc/$pid ]] || printf '%s\n' "$pid"
    done
}

# The containers that run.
_unstall_containers() {
    local engine
    for engine in docker podman; do
        ! command -v "$engine" >/dev/null || "$engine" ps --format '{{.Names}}' 2>/dev/null
    done
}

# The services that systemd knows.
_unstall_units() {
    systemctl list-unit-files --type=service --plain --no-legend 2>/dev/null | sed 's/ .*//'
}

# The other words of a verb; $3: one of them is there already.  A mode comes behind what it is for.
_unstall_words() {
    local usage=$1 cur=$2 words=
    COMPREPLY=()
    [[ $usage != *MODE* || -z $3 ]] || words+=" $_unstall_modes started"
    [[ $usage != *SERVICE* ]] || words+=" $(_unstall_watched)"
    [[ $usage != *PID\|NAME* ]] ||
        words+=" $("${COMP_WORDS[0]}" attach --list 2>/dev/null | sed -n 's/^\([a-z0-9-]*\) .*/\1/p')"
    [[ $usage != *PID* || $cur != [0-9]* ]] || words+=" $(_unstall_processes)"
    [[ $usage != *UNIT* ]] || words+=" $(_unstall_units)"
    mapfile -t COMPREPLY < <(
        compgen -W "$words" -- "$cur"
        [[ $usage != *PROGRAM* ]] || compgen -c -- "$cur"
        compgen -f -- "$cur"
    )
    compopt -o filenames 2>/dev/null
}

# Where the program of a launching verb stands in COMP_WORDS, by the words before the cursor; or nothing.
_unstall_program_at() {
    local options=$1 i word
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == -- ]]; then
            printf '%s\n' $((i + 1))
            return
        elif [[ $word != -* ]]; then
            printf '%s\n' "$i"
            return
        elif [[ ${COMP_WORDS[i + 1]-} == = ]]; then
            i=$((i + 2))
        elif [[ $'\n'$options == *$'\n'"$word "[!\ ]* ]]; then
            i=$((i + 1))
        fi
    done
}

_unstall() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]-}
    local options usage at line
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(
            compgen -W "$("${COMP_WORDS[0]}" --help | sed -nE 's/^  (-?-?[a-z]+) .*/\1/p')" -- "$cur")
        return
    fi
    if [[ $verb == help || $verb == --* ]]; then
        [[ $verb != help ]] || mapfile -t COMPREPLY < <(
            compgen -W "$("${COMP_WORDS[0]}" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')" -- "$cur")
        return
    fi
    options=$(_unstall_options "$verb")
    usage=$("${COMP_WORDS[0]}" "$verb" --help 2>/dev/null | sed 1q)
    if [[ $usage == *PROGRAM\ * ]]; then
        at=$(_unstall_program_at "$options")
        if [[ -n $at ]] && ((COMP_CWORD > at)); then
            # the program's own completion, where there is one (bash-completion)
            if declare -F _command_offset >/dev/null; then
                _command_offset "$at"
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                compopt -o filenames 2>/dev/null
            fi
            return
        fi
    fi
    # "--mode=co" comes as three words
    if [[ $cur == = ]]; then
        cur=
        prev=${COMP_WORDS[COMP_CWORD - 1]}
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $prev == --* && $prev != -- ]] &&
        line=$(grep -F -- "$prev " <<<"$options" | grep -m 1 -E '^--[a-z-]+ [^ ]'); then
        _unstall_values "$line" "$cur"
    elif [[ $cur == -* && -z $at ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "--help $(sed -nE 's/^(--[a-z-]+).*/\1/p' <<<"$options")" -- "$cur")
    elif [[ $cur == -* ]]; then
        COMPREPLY=()
    else
        _unstall_words "$usage" "$cur" "$(_unstall_program_at "$options")"
    fi
}

complete -F _unstall unstall
