# SPDX-License-Identifier: MIT
"""unstall run under the supervisor at a terminal: the keys of a shell's job control reach the program."""

from pathlib import Path

import pytest

from harness import COMMAND, ShellTerminal, bare_env

PROMPT = "ready> "
UNDER = f"{COMMAND} run --how seccomp"


@pytest.fixture(name="terminal")
def _terminal():
    terminal = ShellTerminal(["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"],
                             bare_env(PS1=PROMPT, TERM="dumb"))
    terminal.until(PROMPT)
    yield terminal
    terminal.end()


def test_ctrl_c_ends_the_program_with_the_code_of_sigint(terminal):
    terminal.type(f"{UNDER} sh -c 'echo it  is  $$ .; exec sleep 300'\n")
    terminal.until("it is ")
    program = Path("/proc") / terminal.until(" .")
    assert program.exists()
    terminal.type("\x03")
    terminal.until(PROMPT)
    assert not program.exists()
    terminal.type("echo code $?\n")
    terminal.until("code 130")


def test_ctrl_z_stops_the_program_and_fg_lets_it_read_the_terminal_again(terminal):
    terminal.type(f"{UNDER} sh -c 'echo it  runs; read line; echo got  $line; exit 7'\n")
    terminal.until("it runs")
    terminal.type("\x1a")
    assert "Stopped" in terminal.until(PROMPT)
    terminal.type("fg\n")
    terminal.type("words\n")
    terminal.until("got words")
    terminal.until(PROMPT)
    terminal.type("echo code $?\n")
    terminal.until("code 7")
