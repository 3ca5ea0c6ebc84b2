# SPDX-License-Identifier: MIT
"""unstall run under the supervisor at a terminal: the keys of a shell's job control reach the program."""

import contextlib
import os
import pty
import select
import signal
import time
from pathlib import Path

import pytest

from harness import COMMAND, bare_env

PROMPT = "ready> "
UNDER = f"{COMMAND} run --how seccomp"
PATIENCE_S = 20


class Terminal:
    """An interactive bash; what it and its programs say is in `said`."""

    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = bare_env(PS1=PROMPT, TERM="dumb")
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], env)
        self.said = ""

    def until(self, text):
        """Reads up to this text, and gives what came before."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.said:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.fd], [], [], left)[0], f"no {text!r} in {self.said!r}"
            self.said += os.read(self.fd, 4096).decode()
        before, self.said = self.said.split(text, 1)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        os.close(self.fd)  # its processes get SIGHUP
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture(name="terminal")
def _terminal():
    terminal = Terminal()
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
