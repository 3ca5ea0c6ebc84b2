# SPDX-License-Identifier: MIT
"""scripts/arch, as the tests call it."""

import subprocess

from harness import SOURCE_ROOT, bare_env

SCRIPT = SOURCE_ROOT / "scripts/arch"
SECONDS = 400


def judged(architecture):
    """The line that scripts/arch prints; it ends with 1 if anything is not as promised."""
    done = subprocess.run([SCRIPT, architecture], env=bare_env(), check=False, text=True, timeout=SECONDS,
                          capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    line = done.stdout.splitlines()[-1]
    name, _, cells = line.partition(": ")
    assert name == architecture
    return {cell.split()[0]: float(cell.split()[1]) for cell in cells.split(", ")}
