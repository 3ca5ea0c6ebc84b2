# SPDX-License-Identifier: MIT
"""The built command, and how tests run it."""

import contextlib
import fcntl
import json
import os
import shutil
import struct
import subprocess
import tempfile
import termios
from pathlib import Path

from .library import BUILD_ROOT, bare_env
from .process import run

VERDICT_CODES = {"none": 0, "stalls": 1, "too-few": 2, "cannot-tell": 2}
VERDICT_VERBS = ("scan", "observe", "explain", "report")  # their exit code is a verdict
COMMAND = Path(os.environ.get("UNSTALL_COMMAND", BUILD_ROOT / "src/cli/unstall"))


def unstall(*words, env=None, check=False, **popen):
    """Run `unstall WORD...` to its end, without the library in its environment unless `env` has it.  With
    `check`, a code that is no answer fails the test."""
    done = run([COMMAND, *words], bare_env() if env is None else env, check=False, **popen)
    answers = (0, 1, 2) if words and words[0] in VERDICT_VERBS else (0,)
    assert not check or done.returncode in answers, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def on_terminal(env, columns, *words):
    """The exit code of `unstall WORD...` on a terminal of so many columns, and what it shows there."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 40, columns, 0, 0))
    with subprocess.Popen([COMMAND, *words], env=env, stdin=subprocess.DEVNULL, stdout=theirs) as command:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(ours, 65536):
                shown += piece
        os.close(ours)
    return command.returncode, shown.decode()


@contextlib.contextmanager
def command_of_everybody(*files):
    """A copy of the command that each user may run, which is not so below tmp_path; beside it those files."""
    with tempfile.TemporaryDirectory(prefix="unstall-command-") as folder:
        os.chmod(folder, 0o755)
        for file in files:
            shutil.copy2(file, folder)
        yield Path(shutil.copy(COMMAND, folder))


def with_capabilities(*names, user=65534):
    """The words before a command that runs as this user, with these capabilities and no others."""
    some = ",".join(["-all", *(f"+{name}" for name in names)])
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", f"--inh-caps={some}",
            f"--ambient-caps={some}", f"--bounding-set={some}"]


def control_of(folder):
    """The control block of the one process with a statistics file in `folder`, from the report."""
    return json.loads(unstall("report", "--json", folder, check=True).stdout)["processes"][0]["control"]
