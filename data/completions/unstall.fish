# SPDX-License-Identifier: MIT
#
# Completion of unstall(1) for fish, from the command's --help, which has one form for all verbs:
# "  --option VALUE  a description, or the possible words".

function __unstall_verbs
    unstall --help 2>/dev/null | string replace -rf '^  ([a-z]+)  +(.*)$' '$1\t$2'
end

# The words behind the command that stand before the cursor.
function __unstall_words
    set -l words (commandline -opc)
    test (count $words) -gt 1; and printf '%s\n' $words[2..-1]
end

function __unstall_verb
    set -l words (__unstall_words)
    test (count $words) -gt 0; and echo $words[1]
end

function __unstall_modes
    printf '%s\n' off observe nodelay cork coalesce auto
end

function __unstall_units
    systemctl list-unit-files --type=service --plain --no-legend 2>/dev/null | string replace -r ' .*' ''
end

# The containers that run.
function __unstall_containers
    for engine in docker podman
        command -q $engine; and $engine ps --format '{{.Names}}' 2>/dev/null
    end
end

# Services and processes that have statistics.
function __unstall_watched
    path basename /run/unstall/*/
    set -l files /run/unstall/*/*.unstall /dev/shm/unstall/*.unstall
    set -q UNSTALL_STATS; and set -a files $UNSTALL_STATS/*.unstall
    for pid in (path basename $files | string replace -r -- '-.*' '')
        test -d /proc/$pid; and echo $pid
    end
end

# Whether a word stands before the cursor that is no option and no value of one.
function __unstall_has_word
    set -l words (__unstall_words)
    set -l with_value (__unstall_with_value)
    for i in (seq 2 (count $words))
        string match -q -- '-*' $words[$i]; or contains -- $words[(math $i - 1)] $with_value; or return 0
    end
    return 1
end

# The options of the verb that take a value: "--mode MODE".
function __unstall_with_value
    unstall (__unstall_verb) --help 2>/dev/null | string replace -rf '^  (--[a-z-]+) ([^ ]+)  .*$' '$1'
end

# Where the program of a launching verb stands among the words, the present one included; nothing: not yet.
function __unstall_program_at
    set -l words (__unstall_words)
    string match -q '*PROGRAM *' (unstall $words[1] --help 2>/dev/null)[1]; or return
    set -l with_value (__unstall_with_value)
    set -l skip no
    for i in (seq 2 (count $words))
        if test $skip = yes
            set skip no
        else if test $words[$i] = --
            echo (math $i + 1)
            return
        else if not string match -q -- '-*' $words[$i]
            echo $i
            return
        else if contains -- $words[$i] $with_value
            set skip yes
        end
    end
    test $skip = no; and not string match -q -- '-*' (commandline -ct); and echo (math (count $words) + 1)
end

# What may follow an option; `token` is what of it is there.
function __unstall_values --argument-names option token
    set -l line (unstall (__unstall_verb) --help 2>/dev/null | string match -r -- "^  $option [^ ]+  .*")
    switch "$line"
        case '  --unit *'
            __unstall_units
        case '  --container *'
            __unstall_containers
        case '  --arms *'
            __unstall_modes | string replace -r '^' -- (string match -r '^.*,' -- $token; or echo '')
        case '* DIR *'
            __fish_complete_directories $token
        case '* WHERE *'
            echo stderr
            __fish_complete_path $token
        case '* FILE *'
            __fish_complete_path $token
        case '*'
            set -l text (string replace -r '^  --[a-z-]+ [^ ]+  +([^:;]*).*$' '$1' -- $line)
            string match -qr '^[a-z0-9]+(, [a-z0-9]+)*,? or [a-z0-9]+$' -- $text
            and string split ' ' (string replace ' or ' ' ' (string replace -a ',' '' $text))
    end
end

# Options of the verb, or what may follow the option just typed.
function __unstall_options
    set -l words (__unstall_words)
    set -l token (commandline -ct)
    if contains -- $words[-1] (__unstall_with_value)
        __unstall_values $words[-1] $token
    else if string match -q -- '--*=*' $token
        set -l halves (string split -m 1 = -- $token)
        __unstall_values $halves[1] $halves[2] | string replace -r '^' -- "$halves[1]="
    else
        unstall $words[1] --help 2>/dev/null | string replace -rf '^  (--[a-z-]+)( [^ ]+)?  +(.*)$' '$1\t$3'
        printf '%s\t%s\n' --help 'how to use it'
    end
end

# What else the verb takes.
function __unstall_operands
    set -l words (__unstall_words)
    contains -- $words[-1] (__unstall_with_value); and return
    string match -q -- '-*' (commandline -ct); or test $words[1] = help; and return
    set -l usage (unstall $words[1] --help 2>/dev/null)[1]
    # A mode comes behind what it is for.
    string match -q '*MODE*' $usage; and __unstall_has_word; and __unstall_modes && echo started
    string match -q '*SERVICE*' $usage; and __unstall_watched
    string match -q '*PID|NAME*' $usage
    and unstall attach --list 2>/dev/null | string replace -rf '^([a-z0-9-]+) .*$' '$1'
    string match -q '*PID*' $usage; and __fish_complete_pids
    string match -q '*UNIT*' $usage; and __unstall_units
    string match -q '*PROGRAM*' $usage; and __fish_complete_command
    __fish_complete_path (commandline -ct)
end

function __unstall_has_verb
    test (count (__unstall_words)) -gt 0
end

function __unstall_behind_program
    set -l at (__unstall_program_at)
    test -n "$at"; and test (math (count (__unstall_words)) + 1) -gt $at
end

function __unstall_program
    set -l words (__unstall_words)
    set -l at (__unstall_program_at)
    complete -C (string join -- ' ' (string escape -- $words[$at..-1]) (commandline -ct))
end

complete -c unstall -f
complete -c unstall -n 'not __unstall_has_verb' -a '(__unstall_verbs)'
complete -c unstall -n 'not __unstall_has_verb' -l help -d 'What there is'
complete -c unstall -n 'not __unstall_has_verb' -l version -d 'The version'
complete -c unstall -n 'test "$(__unstall_verb)" = help' -a '(__unstall_verbs)'
complete -c unstall -n '__unstall_has_verb; and not __unstall_behind_program' -a '(__unstall_options)'
complete -c unstall -n '__unstall_has_verb; and not __unstall_behind_program' -a '(__unstall_operands)'
complete -c unstall -n '__unstall_behind_program' -a '(__unstall_program)'
