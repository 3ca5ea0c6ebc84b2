# SPDX-License-Identifier: MIT
"""The blocks of docs/deploy.md on podman, as root and as another user: "# cured" and "# stalls" say what the
program in the container has measured.

Nothing is pulled: the images are made from scratch, with this machine's libc.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from made import FOLDER, own_folders, portable

from harness import (COMMAND, LIB, NOBODY, SOURCE_ROOT, STALL_MS, add_files, compile_c, need_root, needed_by,
                     patiently, podman_env, remove_cgroups, skip)

PAGE = own_folders((SOURCE_ROOT / "docs/deploy.md").read_text(encoding="utf-8"))
SECTION = PAGE.split("\n## podman and docker\n")[1].split("\n## ")[0]

MEASURED = re.compile(r"^(\d+\.\d+) \d+\.\d+ [01]$", re.M)

# The name of the cgroup above the containers, so that it can be removed.
WRAPPER = """podman() {{
    if [[ $1 == run ]]; then
        command podman run {0} "${{@:2}}"
    else
        command podman "$@"
    fi
}}
"""


def judged(output):
    return ["stalls" if float(ms) > STALL_MS else "cured" for ms in MEASURED.findall(output)]


class Podman:
    """With a store of its own in `place`."""

    def __init__(self, place, rootless):
        self.place, self.rootless = place, rootless
        self.group = f"unstall-{os.getpid()}"
        self.env = podman_env(place)
        self.env["PATH"] = f"{place}/bin:{self.env['PATH']}"
        if rootless:
            for path in (place, *place.rglob("*")):
                os.chown(path, NOBODY, NOBODY)

    def said(self, text):
        """What the blocks print, on each of both streams."""
        option = "" if self.rootless else f"--cgroup-parent /{self.group}"
        who = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if self.rootless else []
        done = subprocess.run([*who, "bash", "-euc", WRAPPER.format(option) + text], cwd=self.place,
                              env=self.env, capture_output=True, text=True, check=False, timeout=200,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, done.stderr

    def blocks(self, text):
        """Runs them; what the programs in the containers have measured, in order."""
        return judged(self.said(text)[0])

    def end(self):
        """Its process that keeps the user namespace, and the cgroups that it leaves."""
        for file in self.place.rglob("pause.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(file.read_text(encoding="ascii")), signal.SIGKILL)
        remove_cgroups(self.group)


def write_images(place):
    """The files of the page, and an image of a program that stalls."""
    program = compile_c(SOURCE_ROOT / "tests/arch/exchange.c")
    add_files(place / "root", *needed_by(program), *needed_by(portable()))
    shutil.copy(program, place / "root/app")
    (place / "Containerfile.app").write_text('FROM scratch\nCOPY root /\nCMD ["/app"]\n', encoding="ascii")
    (name,) = re.findall(r"with `(Containerfile\.\w+)`:", SECTION)
    (text,) = re.findall(r"^```Containerfile\n(.*?)^```$", SECTION, re.M | re.S)
    (place / name).write_text(text, encoding="ascii")
    shutil.copy(SOURCE_ROOT / "Containerfile", place)
    shutil.copytree(portable().parent, place / "build-packages/portable")
    (place / "bin").mkdir()
    for file in (COMMAND, LIB):
        shutil.copy(file, place / "bin")


@pytest.fixture(name="podman", scope="module", params=["root", "rootless"])
def a_podman(request):
    need_root("may become another user")
    for name in ("podman", "runc"):
        if not shutil.which(name):
            skip(f"{name} is not installed")
    FOLDER.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="unstall-podman-"))  # where another user may go
    podman = None
    try:
        write_images(place)
        podman = Podman(place, request.param == "rootless")
        podman.blocks("podman build -t app -f Containerfile.app .")
        yield podman
    finally:
        if podman:
            podman.end()
        shutil.rmtree(place)


def test_the_blocks_of_the_page(podman):
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```$", SECTION, re.M | re.S))
    (stats,) = re.findall(r"^install -d -m 700 (\S+)$", blocks, re.M)
    expected = re.findall(r"# (cured|stalls)\b", blocks)
    assert len(expected) == 6

    def attempt():
        shutil.rmtree(stats, ignore_errors=True)  # of a run that was ended
        output, errors = podman.said(blocks)
        assert judged(output) == expected, output + errors
    patiently(attempt, tries=2)  # once podman 4.3 gave nothing of a program's output, and exit code 0
    # the same way for a folder that the image fills, as the head of Containerfile says
    (podman.place / "filled").mkdir()
    os.chown(podman.place / "filled", *([NOBODY, NOBODY] if podman.rootless else [0, 0]))
    assert podman.blocks("podman run --rm --network=none -v $PWD/filled:/unstall unstall") == []
    assert (podman.place / "filled/libunstall.so").read_bytes() == portable().read_bytes()


def test_an_image_whose_entrypoint_is_run(podman):
    place = podman.place
    add_files(place / "command", *needed_by(COMMAND))
    (place / "command/usr/bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(COMMAND, place / "command/usr/bin/unstall")
    shutil.copy(LIB, place / "command/usr/bin/libunstall.so")
    (words,) = re.findall(r"`(ENTRYPOINT \[.*\])`", SECTION)
    (place / "Containerfile.run").write_text(f"FROM app\nCOPY command /\nENV PATH=/usr/bin\n{words}\n",
                                             encoding="ascii")

    def attempt():
        assert podman.blocks("podman build -t app-run -f Containerfile.run .\n"
                             "podman run --rm --network=host app-run /app\n"
                             "podman run --rm --network=host -e UNSTALL_MODE=off app-run /app\n") == \
            ["cured", "stalls"]
    patiently(attempt, tries=2)  # as above


def test_a_shell_with_the_library_that_starts_a_container(podman):
    """podman, and what it shows of conmon and runc, has no line of ld.so; the container is as bare."""
    library = podman.place / "bin/libunstall.so"

    def attempt(start):
        output, errors = podman.said(
            f"{start} bash -c 'grep -c libunstall /proc/self/maps; podman run --rm --network=host app'")
        assert int(output.split()[0]) > 0
        assert judged(output) == ["stalls"]
        assert errors == ""
    for start in (f"unstall run --library {library} --", f"env LD_PRELOAD={library}"):
        patiently(lambda words=start: attempt(words), tries=2)  # as above
    _, errors = podman.said("LD_PRELOAD=/none/libunstall.so podman run --rm --network=host app")
    assert errors.count("/none/libunstall.so") >= 1  # a line would be seen
