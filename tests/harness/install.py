# SPDX-License-Identifier: MIT
"""The build, installed into a folder."""

import subprocess

from .library import BUILD_ROOT, bare_env


def installed(folder):
    """Install the build with `folder` as DESTDIR; gives the folder."""
    subprocess.run(["meson", "install", "-C", BUILD_ROOT, "--no-rebuild", "--destdir", folder],
                   check=True, capture_output=True, text=True, env=bare_env())
    return folder


def only(root, name):
    """The one file below `root` with this name, or pattern of a name."""
    (path,) = [path for path in root.rglob(name) if path.is_file()]
    return path
