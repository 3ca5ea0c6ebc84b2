# SPDX-License-Identifier: MIT
"""Compiles a Java source once and remembers the classes in the build root."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile

from harness import BUILD_ROOT


def compile_java(source):
    """The folder of the classes made from one source file."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    folder = BUILD_ROOT / "test-bin" / f"{source.stem}-{digest}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = tempfile.mkdtemp(dir=folder.parent, prefix=f".{source.stem}-")
    done = subprocess.run(["javac", "-d", draft, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{source} does not compile:\n{done.stderr}"
    os.chmod(draft, 0o755)
    try:
        os.rename(draft, folder)
    except OSError:
        shutil.rmtree(draft)  # another run was first
    return folder


def joins_headers_and_body():
    """`OpenJDK 25`, or "" before 23: since then com.sun.net.httpserver sends both in one write."""
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    version = re.search(r'version "(\d+)', said).group(1)
    return f"OpenJDK {version}" if int(version) >= 23 else ""
