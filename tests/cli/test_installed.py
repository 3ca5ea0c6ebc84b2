# SPDX-License-Identifier: MIT
"""meson install: the command finds its library, its manual and completions lie where they are looked for."""

import json
import shutil
import subprocess

import pytest
import shells
from talkers import typical

from harness import SOURCE_ROOT, AnsweringPeer, bare_env, installed, only, program, run


@pytest.fixture(scope="module", name="root")
def a_root(tmp_path_factory):
    """A DESTDIR with the build installed into it."""
    return installed(tmp_path_factory.mktemp("destdir"))


def preloaded(command):
    return run([command, "run", "/bin/sh", "-c", 'echo "$LD_PRELOAD"'], bare_env()).stdout.strip()


def test_the_installed_command_takes_its_library_also_moved_and_through_a_link(root, tmp_path):
    moved = shutil.copytree(root, tmp_path / "elsewhere", symlinks=True)
    (command,), (moved_command,) = root.rglob("bin/unstall"), moved.rglob("bin/unstall")
    (tmp_path / "unstall").symlink_to(command)
    for one, where in ((command, root), (moved_command, moved), (tmp_path / "unstall", root)):
        assert preloaded(one) == str(only(where, "libunstall.so"))


def test_the_installed_command_cures(root):
    command, = root.rglob("bin/unstall")
    with AnsweringPeer() as peer:
        done = run([command, "run", program("put_write"), *peer.target, 12], bare_env())
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["loaded"] and typical(facts["us"]) < 20000


def test_the_command_needs_nothing_that_it_was_not_built_with(root):
    command, = root.rglob("bin/unstall")
    listed = subprocess.run(["objdump", "-p", command], check=True, capture_output=True, text=True).stdout
    needed = {line.split()[1].split(".so")[0] for line in listed.splitlines() if "NEEDED" in line}
    assert needed <= {"libc", "libm", "libelf", "libdw", "libpcap", "libncursesw", "libtinfo", "libz",
                      "libseccomp", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert "RUNPATH" not in listed and "RPATH" not in listed


@pytest.mark.parametrize("part", ["analysis", "pages"])
def test_the_parts_in_python_are_installed_whole_and_nothing_beside_them(root, part):
    (folder,), source = root.rglob(f"unstall/{part}"), SOURCE_ROOT / "src" / part
    assert sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file()) == \
        sorted(path.relative_to(source) for path in source.rglob("*.py"))


def test_the_manual_is_installed(root):
    path = only(root, "unstall.1*")
    assert path.parent.name == "man1"
    assert '.TH "unstall" "1"' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["bash-completion/completions/unstall", "zsh/site-functions/_unstall",
                                   "fish/vendor_completions.d/unstall.fish"])
def test_completions_are_installed_where_the_shells_look(root, place):
    path, = root.rglob(place)
    source = {"unstall": "unstall.bash"}.get(path.name, path.name)
    assert path.read_bytes() == (shells.FOLDER / source).read_bytes()
