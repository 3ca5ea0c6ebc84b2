# SPDX-License-Identifier: MIT
"""The newest libc that the machine's own package source has, unpacked into the build root, never installed.

Programs of this machine run with it by its own dynamic linker.
"""

import fcntl
import functools
import shutil
import subprocess
import time
from pathlib import Path
from platform import machine

from .library import BUILD_ROOT, PROCESSOR, skip

FOLDER = BUILD_ROOT / "newest-libc"
KEEP_S = 7 * 24 * 3600

# The distribution -> its newest release, and the keys that sign it.
_NEWEST = {"debian": ("sid", "/usr/share/keyrings/debian-archive-keyring.gpg"),
           "ubuntu": ("devel", "/usr/share/keyrings/ubuntu-archive-keyring.gpg")}

_ARCHITECTURES = {"x86": "i386", "x86_64": "amd64", "aarch64": "arm64", "arm": "armhf"}


class Unavailable(Exception):
    """There is no such libc to be had here; the text says why."""


def _sources():
    """The addresses from which this machine takes its release."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(COMPONENT) $(RELEASE) $(REPO_URI)",
                           "Created-By: Packages"], capture_output=True, text=True, check=False)
    rows = (line.split() for line in done.stdout.splitlines())
    return list(dict.fromkeys(row[2] for row in rows
                              if len(row) == 3 and row[0] == "main" and "-" not in row[1]))


def _apt(folder, *words):
    """apt-get with lists and settings of its own; nothing outside `folder` is written."""
    settings = {"Dir::State": folder / "state", "Dir::State::status": "/dev/null",
                "Dir::Cache": folder / "cache", "Dir::Etc::sourcelist": folder / "newest.list",
                "Dir::Etc::sourceparts": "/dev/null", "Dir::Etc::preferencesparts": "/dev/null",
                "Acquire::Languages": "none", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
                "Acquire::Retries": 1, "Acquire::http::Timeout": 20, "APT::Sandbox::User": "root",
                "APT::Architecture": _ARCHITECTURES.get(PROCESSOR, PROCESSOR), "APT::Architectures": ""}
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    done = subprocess.run(["apt-get", "-q", *options, *words], cwd=folder, capture_output=True, text=True,
                          timeout=300, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def _download(folder, source, release, keys):
    """The package, in `folder`."""
    for part in ("state/lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    signed = f"[signed-by={keys}] " if Path(keys).exists() else ""
    (folder / "newest.list").write_text(f"deb {signed}{source} {release} main\n", encoding="utf-8")
    told = ""
    for words in (("update",), ("download", "libc6")):
        done, said = _apt(folder, *words)
        told += said
        if not done:
            break
    package = next(folder.glob("libc6_*.deb"), None)
    if package is None:
        raise Unavailable(next((line for line in told.splitlines() if line.startswith(("E:", "W:"))), told))
    return package


def fetch(folder, sources=None):
    """Put the newest libc into `folder`."""
    ids = dict(line.strip().split("=", 1) for line in Path("/etc/os-release").read_text(
        encoding="utf-8").splitlines() if "=" in line)
    if shutil.which("apt-get") is None or ids.get("ID") not in _NEWEST:
        raise Unavailable("this system's packages do not come by apt")
    why = "apt names no package source"
    for source in _sources() if sources is None else sources:
        draft = folder.with_name(f"{folder.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        try:
            package = _download(draft, source, *_NEWEST[ids["ID"]])
            subprocess.run(["dpkg-deb", "-x", package, draft / "root"], check=True)
            shutil.rmtree(folder, ignore_errors=True)
            (draft / "root").rename(folder)
            return
        except (Unavailable, OSError, subprocess.SubprocessError) as error:
            why = str(error)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    raise Unavailable(why)


class NewestLibc:
    """An unpacked libc."""

    def __init__(self, folder):
        self.path = next(folder.rglob("libc.so.6"))
        self._linker = next(self.path.parent.glob("ld*.so.[0-9]"))

    def runs(self, argv):
        """The command by which this libc's dynamic linker starts a program."""
        return [self._linker, "--library-path", self.path.parent, *argv]


@functools.cache
def _found():
    """The newest libc, or why there is none; it is fetched again after a week."""
    if PROCESSOR not in (machine(), *(["x86"] if machine() == "x86_64" else [])):
        return f"this machine has no programs for {PROCESSOR}"
    why = ""
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with open(FOLDER.with_name("newest-libc.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not FOLDER.exists() or time.time() - FOLDER.stat().st_ctime > KEEP_S:
            try:
                fetch(FOLDER)
            except Unavailable as error:
                why = str(error)
    return NewestLibc(FOLDER) if FOLDER.exists() else why


def has_newest_libc():
    """Whether it is there."""
    return isinstance(_found(), NewestLibc)


def newest_libc():
    """The newest libc; skips the test where there is none to be had."""
    if not has_newest_libc():
        skip(f"the newest libc cannot be had: {_found()}")
    return _found()
