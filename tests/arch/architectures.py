# SPDX-License-Identifier: MIT
"""scripts/arch, as the tests call it."""

import functools
import re
import subprocess

from harness import SOURCE_ROOT, bare_env

SCRIPT = SOURCE_ROOT / "scripts/arch"
SECONDS = 400


@functools.cache
def judged(architecture):
    """The line of an architecture that scripts/arch prints, once it was as promised."""
    done = subprocess.run([SCRIPT, architecture], env=bare_env(), check=False, text=True, timeout=SECONDS,
                          capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"\d+ passed, 0 failed", done.stdout.splitlines()[-1])
    name, _, cells = done.stdout.splitlines()[0].partition(": ")
    assert name == architecture
    return {cell.split()[0]: float(cell.split()[1]) for cell in cells.split(", ")}
