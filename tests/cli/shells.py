# SPDX-License-Identifier: MIT
"""Completes words in the installed bash, zsh and fish: the offers of the shell for a line being typed."""

import re
import shutil
import subprocess
import tempfile

from harness import COMMAND, SOURCE_ROOT, ShellTerminal, bare_env, skip

FOLDER = SOURCE_ROOT / "data/completions"
LIMIT_S = 30


def _environment(home, first=COMMAND.parent, **more):
    return bare_env(PATH=f"{first}:{COMMAND.parent}:/usr/bin:/bin", HOME=home, TERM="xterm", LC_ALL="C.UTF-8",
                    **more)


def _needed(shell):
    if not shutil.which(shell):
        skip(f"{shell} is not installed")
    return shutil.which(shell)


def _typed(shell, options, setup, line, **env):
    """(the completed line, the listed words) after TAB TAB."""
    path = _needed(shell)
    with tempfile.TemporaryDirectory() as home:
        terminal = ShellTerminal([path, *options], _environment(home, **env), SOURCE_ROOT)
        try:
            terminal.type(f"{setup}\necho RE''ADY\n")
            terminal.until("READY\n")
            terminal.until("PROMPT> ")
            # a key of our own shows the end of the completion, and the line
            terminal.type(f"{line}\t\t\x18\x04")
            seen = terminal.until("}END") + "}END"
            became = re.search(r"LINE\{(.*?)\}END", seen, re.DOTALL)[1]
            return became, seen.split("LINE{")[0]
        finally:
            terminal.end()


def bash_typed(line):
    return _typed("bash", ["--norc", "--noprofile", "-i"],
                  "PS1='PR''OMPT> '; set +o history; bind 'set enable-bracketed-paste off'; "
                  "bind 'set page-completions off'; bind 'set completion-query-items 0'; "
                  f"source {FOLDER}/unstall.bash; "
                  "bind -x '\"\\C-x\\C-d\": echo \"LINE{$READLINE_LINE}END\"'", line)


def zsh_typed(line, **env):
    return _typed("zsh", ["-f", "-i"],
                  f"PS1='PR''OMPT> '; fpath=({FOLDER} $fpath); autoload -Uz compinit; compinit -u -D; "
                  "LISTMAX=0; "
                  "unset zle_bracketed_paste; "
                  "show() {{ print -r -- \"LINE{{$BUFFER}}END\" }}; zle -N show; bindkey '^X^D' show"
                  .replace("{{", "{").replace("}}", "}"), line, **env)


def bash(line, **env):
    """The candidates that bash's function gives; the cursor is at the end of `line`.  The commands of the
    folder `first` come before the installed ones."""
    words = line.split(" ")
    text = (f"source {FOLDER}/unstall.bash; COMP_WORDS=({' '.join(repr(word) for word in words)}); "
            f"COMP_CWORD={len(words) - 1}; _unstall; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    return _said([_needed("bash"), "--norc", "-c", text], **env)


def fish(line, **env):
    text = f"source {FOLDER}/unstall.fish; complete -C '{line}'"
    return [candidate.split("\t")[0] for candidate in _said([_needed("fish"), "-c", text], **env)]


def _said(argv, **env):
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(argv, env=_environment(home, **env), cwd=SOURCE_ROOT, check=True,
                              capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    assert "rror" not in done.stderr
    return [line for line in done.stdout.splitlines() if line]
