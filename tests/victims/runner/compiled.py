# SPDX-License-Identifier: MIT
"""Compiles or installs the parts of a victim, once, and remembers it in the build root."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import BUILD_ROOT

from .victims import HOME


def made(sources, make, *salt):
    """The folder that `make(draft folder)` filled, made anew only if `sources` or `salt` changed.

    `sources` is a file, or a list of files and folders of which the first lies in the victim's own folder:
    all that the build reads, and not the victim.py beside it.
    """
    sources = [sources] if isinstance(sources, Path) else sources
    home, digest = sources[0].parent, hashlib.sha256(repr(salt).encode())
    for source in sources:
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if path.is_file():
                digest.update(f"{path.relative_to(source.parent)}\0".encode() + path.read_bytes())
    folder = BUILD_ROOT / "test-bin" / f"{home.name}-{digest.hexdigest()[:12]}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = tempfile.mkdtemp(dir=folder.parent, prefix=f".{home.name}-")
    os.chmod(draft, 0o755)
    try:
        make(draft)
    except BaseException:
        shutil.rmtree(draft)
        raise
    try:
        os.rename(draft, folder)
    except OSError:
        shutil.rmtree(draft)  # another run was first
    return folder


def build(command, cwd=None, seconds=100, **variables):
    """Run a compiler or installer with low priority; its output is shown only if it fails."""
    done = subprocess.run(["nice", "-n", "15", *map(str, command)], cwd=cwd, timeout=seconds, check=False,
                          env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    assert done.returncode == 0, f"{command} has failed:\n{done.stdout}{done.stderr}"
    return done.stdout


def compiled(name, *command, libraries=()):
    """The binary that `command`, with -o FILE and the source behind it, makes of a file below tests/victims.

    It is made of a copy: some compilers leave files beside the source.
    """
    source = HOME / name

    def make(draft):
        shutil.copy(source, draft)
        build([*command, "-o", source.stem, source.name, *libraries], cwd=draft)

    return made(source, make, command, libraries) / source.stem
