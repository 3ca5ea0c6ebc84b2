# SPDX-License-Identifier: MIT
"""The packages and the portable library, made once for all tests of a run by scripts/package."""

import fcntl
import hashlib
import os
import shutil
import subprocess

from harness import BUILD_ROOT, COMMAND, SOURCE_ROOT, bare_env

FOLDER = BUILD_ROOT / "deploy"
SOURCES = ("meson.build", "meson_options.txt", "src", "data", "docs", "debian", "scripts", "README.md",
           "NEWS.md")


def _version():
    """What the packages are made of."""
    digest = hashlib.sha256()
    for name in SOURCES:
        top = SOURCE_ROOT / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(SOURCE_ROOT)} {path.stat().st_mode:o}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def own_folders(text):
    """Blocks of a page with folders in memory that no other run of the tests on this machine has."""
    return text.replace("/dev/shm/", f"/dev/shm/{os.getpid()}-")


def with_command(env):
    """... where `unstall` is the command as built."""
    return {**env, "PATH": f"{COMMAND.parent}:{env['PATH']}"}


def run(*command, **options):
    """To its end; its output where it fails."""
    options.setdefault("env", bare_env())
    options.setdefault("timeout", 1500)
    done = subprocess.run([str(word) for word in command], check=False, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout[-6000:]}"
    return done.stdout


def made(name, *options):
    """The folder into which scripts/package with these options has put its work."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    folder, stamp, version = FOLDER / name, FOLDER / f"{name}.stamp", _version()
    with open(FOLDER / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test files run at the same time
        if not stamp.exists() or stamp.read_text(encoding="ascii") != version:
            stamp.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            run(SOURCE_ROOT / "scripts/package", "--output", folder, *options)
            stamp.write_text(version, encoding="ascii")
    return folder


def packages():
    """Debian packages, the release tarball, what lintian has passed."""
    return made("packages")


def portable():
    """The library for containers."""
    return made("portable-library", "--portable") / "portable/libunstall.so"
