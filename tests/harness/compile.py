# SPDX-License-Identifier: MIT
"""Compiles a test program once and remembers the binary in the build root."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .library import BUILD_ROOT, skip

# The compiler, with its options for the library's architecture (scripts/arch) or sanitizer
# (scripts/sanitize).
CC = [os.environ.get("UNSTALL_TESTS_CC", "gcc"), *os.environ.get("UNSTALL_TESTS_CFLAGS", "").split()]

_COMMON = ("-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", *CC[1:])


def compile_c(source, *flags, cc=CC[0], libraries=(), name=None):
    """The path of the binary made from `source`; compiled only if it, its headers or flags changed.  Its name
    begins with `name`, by default that of the source.

    Programs are built without _FORTIFY_SOURCE unless `flags` ask for it, so that the call written
    in the source is the call made.
    """
    source = Path(source)
    command = [cc, *_COMMON, "-U_FORTIFY_SOURCE", *map(str, flags), str(source)]
    texts = [source, *sorted(source.parent.glob("*.h")), *sorted(Path(__file__).parent.glob("*.h"))]
    return _built(name or source.stem, command, [f"-l{library}" for library in libraries], texts)


def compile_rust(source, *flags):
    """The path of the binary made from `source`; compiled only if it, its module raw.rs or flags changed."""
    source = Path(source)
    command = ["rustc", "--edition=2018", "-O", *flags, str(source)]
    return _built(source.stem, command, [], [source, Path(__file__).parent / "raw.rs"])


def compile_go(source, name):
    """The path of the static binary made from `source`; Go itself remembers what has not changed."""
    go = shutil.which("go")
    if not go:
        skip("there is no go")
    binary = BUILD_ROOT / "test-bin" / name
    binary.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([go, "build", "-o", binary, source], check=True, timeout=300,
                   env={**os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off"})
    return binary


def _built(name, command, links, texts):
    digest = hashlib.sha256(" ".join([*command, *links]).encode())
    for text in texts:
        digest.update(text.read_bytes())
    folder = BUILD_ROOT / "test-bin"
    folder.mkdir(parents=True, exist_ok=True)
    binary = folder / f"{name}-{digest.hexdigest()[:12]}"
    if binary.exists():
        return binary
    # Several test runs may compile at once: each into its own name, the rename decides.
    handle, draft = tempfile.mkstemp(dir=folder, prefix=f".{name}-")
    os.close(handle)
    done = subprocess.run([*command, "-o", draft, *links], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        Path(draft).unlink(missing_ok=True)  # newer linkers have removed it
        raise AssertionError(f"{name} does not compile:\n{done.stderr}")
    os.chmod(draft, 0o755)
    os.rename(draft, binary)
    return binary
