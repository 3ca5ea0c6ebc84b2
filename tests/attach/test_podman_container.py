# SPDX-License-Identifier: MIT
"""unstall attach --container on a container of podman with a cgroup of its own, and unstall run in one.

Nothing is pulled: the image has a static program, the command, and what that needs.
"""

import contextlib
import itertools
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from attachments import attached
from unreached import KINDS, is_cured, stalls, talking, wait_until

from harness import COMMAND, LIB, add_files, need_root, needed_by, podman_env, remove_cgroups, run, skip

KIND = "static, raw calls"


class Podman:
    """With a store of its own, and an image `talker`."""

    def __init__(self, place):
        self.env = podman_env(place)
        self.group = f"unstall-{os.getpid()}"  # above the containers
        self.count = itertools.count()
        add_files(place / "root", KINDS[KIND](), COMMAND, LIB, *needed_by(COMMAND))
        (place / "Containerfile").write_text("FROM scratch\nCOPY root /\n", encoding="ascii")
        self("build", "-t", "talker", place)

    def __call__(self, *words):
        done = run(["podman", *map(str, words)], self.env, check=False, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    @contextlib.contextmanager
    def talking(self, *before):
        """A talker in a container, and the container's name."""
        name = f"talker-{next(self.count)}"
        under = ["podman", "run", "-i", "--rm", "--network=host", f"--cgroup-parent=/{self.group}",
                 "--name", name, "talker", *before]
        with talking(KIND, env=self.env, under=under) as talker:
            try:
                assert wait_until(lambda: talker.told), "the container does not start"
                yield talker, name
            finally:
                with contextlib.suppress(AssertionError):  # the container may have ended; podman ends later
                    self("kill", name)
                talker.process.wait(60)


@pytest.fixture(name="podman", scope="module")
def a_podman():
    need_root("may attach to a cgroup")
    for name in ("podman", "runc"):
        if not shutil.which(name):
            skip(f"{name} is not installed")
    place = Path(tempfile.mkdtemp(prefix="unstall-podman-"))
    podman = None
    try:
        podman = Podman(place)
        yield podman
    finally:
        if podman:
            remove_cgroups(podman.group)
        shutil.rmtree(place)


@pytest.mark.parametrize("by", ["name", "id", "beginning of the id"])
def test_a_container_is_cured_and_put_back(podman, by):
    with podman.talking() as (talker, name), podman.talking() as (other, _):
        whole = podman("inspect", "--format", "{{.Id}}", name)
        word = {"name": name, "id": whole, "beginning of the id": whole[:12]}[by]
        assert stalls(talker)
        with attached("--container", word, env=podman.env) as a:
            assert a.said.startswith(f"unstall attach: container {word}: ")
            assert is_cured(talker)
            talker.say("new")
            assert is_cured(talker) and talker.reads_back() == {0}
            assert stalls(other)
            assert a.end() == 0
        assert a.said.endswith("put back; 2 connections had been cured\n")
        assert stalls(talker)


def test_the_other_mode(podman):
    with podman.talking() as (talker, name):
        assert stalls(talker)
        with attached("--container", name, "--mode", "always", env=podman.env):
            assert is_cured(talker)
        assert stalls(talker)


def test_it_ends_with_the_container(podman):
    with podman.talking() as (talker, name), attached("--container", name, env=podman.env) as a:
        assert is_cured(talker)
        podman("kill", name)
        assert a.wait() == 0 and f"container {name}: the cgroup was removed" in a.said


def test_run_in_a_container_cures_from_the_start(podman):
    with podman.talking(COMMAND, "run") as (talker, _):
        assert is_cured(talker)
