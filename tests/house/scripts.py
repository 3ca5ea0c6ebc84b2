# SPDX-License-Identifier: MIT
"""Loads the Python scripts of scripts/lib, which are named like commands, not like modules."""

import importlib.util

from harness import SOURCE_ROOT


def load(name):
    """scripts/lib/<name>.py as a module."""
    path = SOURCE_ROOT / "scripts/lib" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
