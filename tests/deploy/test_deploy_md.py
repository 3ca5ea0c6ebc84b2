# SPDX-License-Identifier: MIT
"""docs/deploy.md: its code blocks do what they say; those of systemd, podman and Kubernetes have test files
of their own.  In each the program under test makes connections to a peer here, which measures whether they
stall; "# cured" and "# stalls" in a block say what is expected, in order."""

import os
import re
import shutil
import subprocess

import pytest
from made import own_folders, packages, portable, run, with_command
from roots import CLIENT, EXCHANGES, REQUEST, median_wait_of

from harness import SOURCE_ROOT, STALL_MS, AnsweringPeer, bare_env, compile_c, patiently, need_root, skip

PAGE = own_folders((SOURCE_ROOT / "docs/deploy.md").read_text(encoding="utf-8"))


def section(title):
    """(language, text, file that the words before it name) of each code block of the section."""
    text = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S).group(1)
    blocks = []
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        names = re.findall(r"`([\w.]+)`:\s*\Z", text[:found.start()])
        blocks.append((found.group(1), found.group(2), names[-1] if names else None))
    return blocks


def script(*titles):
    return "".join(text for title in titles for language, text, _ in section(title) if language == "sh")


def write_files(title, folder):
    for language, text, name in section(title):
        if language != "sh":
            (folder / name).write_text(text, encoding="utf-8")


def expected(text):
    return re.findall(r"# (cured|stalls)\b", text)


def measured(peer):
    return ["stalls" if median_wait_of(connection) > STALL_MS else "cured" for connection in peer.connections]


def write_app(path, peer):
    """The program of the page: perl, with its peer's address in it."""
    arguments = f'("{peer.address}", {peer.port}, {EXCHANGES})'
    text = CLIENT.read_text(encoding="utf-8").replace("@ARGV", arguments)
    path.write_text("#!/usr/bin/perl\n" + text, encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture(scope="module", autouse=True)
def root_only():
    need_root("may make the roots in which the blocks run")


def test_every_section_has_its_blocks_or_says_why():
    assert re.findall(r"^## (.*)$", PAGE, re.M) == [
        "Packages", "A shell", "systemd", "podman and docker", "compose", "Kubernetes",
        "A closed-source 32-bit program", "sudo"]


def test_packages_shell_and_sudo(tmp_path):
    """In a root with the packages installed as the page says."""
    blocks = script("Packages", "A shell", "sudo")
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "blocks").write_text(blocks, encoding="utf-8")

    def attempt():
        with AnsweringPeer(request=REQUEST) as peer:
            write_app(tmp_path / "app", peer)
            said = run("unshare", "--mount", "--propagation", "private", SOURCE_ROOT / "tests/deploy/page.sh",
                       root, tmp_path, packages())
        assert measured(peer) == expected(blocks), said
        assert len(peer.connections) == 9
        assert "wrote" in said and "stall" in said
    patiently(attempt, tries=3)  # nine medians


# Each release of podman-compose prints something else of what it does; all call podman.
STAND_IN = """#!/bin/sh
echo "podman $*" >>{}
[ "$1" != --version ] || echo "podman version 4.3.1"
"""


def test_compose_gives_the_library_to_the_service(tmp_path):
    """The second block reads what a program of this machine has counted with the service's variables."""
    if shutil.which("podman-compose") is None:
        skip("podman-compose is not installed")
    write_files("compose", tmp_path)
    start, watch = [text for language, text, _ in section("compose") if language == "sh"]
    (folder,) = re.findall(r"^install -d -m 700 (\S+)$", start, re.M)
    (tmp_path / "bin").mkdir()
    podman = tmp_path / "bin/podman"
    podman.write_text(STAND_IN.format(tmp_path / "calls"), encoding="ascii")
    podman.chmod(0o755)
    try:
        run("bash", "-euc", start, cwd=tmp_path,
            env=bare_env(PATH=f"{podman.parent}:{os.environ['PATH']}"))
        calls = (tmp_path / "calls").read_text(encoding="utf-8")
        (started,) = re.findall(r"^podman run .*$", calls, re.M)
        assert "-e LD_PRELOAD=/unstall/libunstall.so -e UNSTALL_MODE=auto -e UNSTALL_STATS=/stats" in started
        for place, to in ((f"{tmp_path}/build-packages/portable", "/unstall"), (folder, "/stats")):
            assert f"-v {place}:{to}" in started or f"source={place},destination={to}" in started, started
        assert re.search(r":/unstall:ro\b|destination=/unstall,ro\b", started)
        assert started.endswith(" app")
        run(compile_c(SOURCE_ROOT / "tests/arch/exchange.c"),
            env=bare_env(LD_PRELOAD=portable(), UNSTALL_MODE="auto", UNSTALL_STATS=folder))
        assert "Cured" in run("bash", "-euc", watch, env=with_command(bare_env()))
    finally:
        shutil.rmtree(folder)


NOBODY = 65534
COPY = [("{folder}", 0, 0, ""), ("{folder}", NOBODY, 0, ""), ("{folder}/none", 0, 1, "No such file"),
        ("", 0, 2, "Usage")]


@pytest.mark.parametrize("argument, user, code, words", COPY)
def test_the_program_of_the_image_copies_the_whole_library_or_says_why(tmp_path, argument, user, code, words):
    """Also as the user of the init container, into a folder as Kubernetes makes an emptyDir."""
    library = portable()
    root, folder = tmp_path / "root", "/to"
    (root / "to").mkdir(parents=True)
    (root / "to").chmod(0o777)
    shutil.copy(library, root)
    shutil.copy(library.parent / "copy", root)
    words_of = ["/copy", argument.format(folder=folder)] if argument else ["/copy"]

    def into_the_container():
        os.chroot(root)
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)

    done = subprocess.run(words_of, check=False, capture_output=True, text=True, cwd="/",
                          preexec_fn=into_the_container)
    assert done.returncode == code and words in done.stderr
    copies = [path.name for path in (root / "to").iterdir()]
    assert copies == (["libunstall.so"] if code == 0 else [])
    if code == 0:
        copied = (root / "to/libunstall.so").stat()
        assert (root / "to/libunstall.so").read_bytes() == library.read_bytes()
        assert (copied.st_mode & 0o777, copied.st_uid) == (0o644, user)
