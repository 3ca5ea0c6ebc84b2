# SPDX-License-Identifier: MIT
"""unstall attach in the foreground, for tests."""

import contextlib
import signal
import subprocess
from pathlib import Path

from harness import COMMAND, bare_env

ACTOR = Path(__file__).parents[1] / "cli/programs/actor.py"


class Attached:
    """An attach in the foreground."""

    def __init__(self, *words, command=(COMMAND,), env=None, **how):
        self.process = subprocess.Popen([*map(str, command), "attach", *map(str, words)], text=True,
                                        env=env or bare_env(), stderr=subprocess.PIPE, **how)
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if "Ctrl-C" in line:
                break
        assert "Ctrl-C puts all back" in self.said, self.said

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        self.said += self.process.communicate(timeout=60)[1]
        return self.process.returncode


@contextlib.contextmanager
def attached(*words, **how):
    a = Attached(*words, **how)
    try:
        yield a
    finally:
        if a.process.poll() is None:
            a.end()
