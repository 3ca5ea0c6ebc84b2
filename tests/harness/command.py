# SPDX-License-Identifier: MIT
"""The built command, and how tests run it."""

import json
import os
from pathlib import Path

from .library import BUILD_ROOT, bare_env
from .process import run

COMMAND = Path(os.environ.get("UNSTALL_COMMAND", BUILD_ROOT / "src/cli/unstall"))


def unstall(*words, env=None, check=False, **popen):
    """Run `unstall WORD...` to its end, without the library in its environment unless `env` has it."""
    return run([COMMAND, *words], bare_env() if env is None else env, check=check, **popen)


def control_of(folder):
    """The control block of the one process with a statistics file in `folder`, from the report."""
    return json.loads(unstall("report", "--json", folder, check=True).stdout)["processes"][0]["control"]
