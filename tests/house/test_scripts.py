# SPDX-License-Identifier: MIT
"""The scripts explain themselves, refuse unknown words, and the tree keeps its habits."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from scripts import load

from harness import SOURCE_ROOT, skip

pytestmark = pytest.mark.no_library

COMMANDS = ["arch", "attach-cost", "attach-stress", "setup", "test", "demo", "docs", "foreign-suites", "fuzz",
            "gallery", "experiments", "mutate", "package", "pictures", "sanitize", "soak", "tidy"]
SHELL = sorted([SOURCE_ROOT / "scripts" / name for name in COMMANDS] + [SOURCE_ROOT / ".ci/run"] +
               list((SOURCE_ROOT / "scripts").rglob("*.sh")))
SOURCES = sorted(path for folder in ("src", "tests", "scripts", "docs", ".ci")
                 for path in (SOURCE_ROOT / folder).rglob("*")
                 if path.suffix in (".c", ".h", ".S", ".def", ".map", ".py", ".sh") or
                 path.name == "meson.build" or path in SHELL)


def name_of(path):
    """A path as the tree sees it, for the names of cases."""
    return str(path.relative_to(SOURCE_ROOT))


def run(command, *arguments):
    """One of our commands, to its end."""
    return subprocess.run([SOURCE_ROOT / "scripts" / command, *arguments], check=False, timeout=30,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_how_to_use_it(command):
    done = run(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: scripts/{command} ")
    assert done.stderr == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_refused(command):
    done = run(command, "--no-such-option")
    assert done.returncode == 1
    assert "--no-such-option" in done.stderr


@pytest.mark.parametrize("command, word", [("sanitize", "memory"), ("fuzz", "everything")])
def test_an_unknown_name_is_refused(command, word):
    done = run(command, word)
    assert done.returncode == 1 and word in done.stderr


@pytest.mark.parametrize("value", ["", "0", "1", "ten", "-5"])
def test_the_demo_refuses_a_number_of_exchanges_that_measures_nothing(value):
    assert "expected a number" in run("demo", "--exchanges", value).stderr


@pytest.mark.parametrize("path", SHELL, ids=name_of)
def test_shell_is_free_of_syntax_errors(path):
    subprocess.run(["bash", "-n", path], check=True)


def test_each_source_names_its_licence_at_its_head():
    heads = {path: path.read_text(encoding="utf-8").splitlines()[:3] for path in SOURCES}
    assert [name_of(path) for path, head in heads.items()
            if not any("SPDX-License-Identifier: MIT" in line for line in head)] == []


def test_setup_leaves_out_a_package_that_apt_does_not_have(tmp_path):
    """It failed as a whole.  apt and all that would change the machine are stand-ins that only log."""
    log = tmp_path / "log"
    known = 'for p in "${@:2}"; do [[ $p == chromium ]] || printf "%s:\\n  Candidate: 1\\n" "$p"; done'
    answers = {"dpkg-query": "exit 1", "apt-cache": known, "sudo": 'exec "$@"'}
    for name in ("dpkg-query", "apt-cache", "sudo", "apt-get", "tee", "chmod", "rm", "systemctl"):
        stand_in = tmp_path / name
        stand_in.write_text(f'#!/bin/bash\necho "{name} $*" >>{log}\n{answers.get(name, "cat >/dev/null")}\n')
        stand_in.chmod(0o755)
    for name in ("bash", "cat", "dirname", "env", "sed"):
        (tmp_path / name).symlink_to(shutil.which(name))
    done = subprocess.run([SOURCE_ROOT / "scripts/setup", "--test"], env={"PATH": str(tmp_path)}, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stderr
    assert "apt has no package chromium here" in done.stdout
    calls = log.read_text().splitlines()
    installed = next(call for call in calls if call.startswith("apt-get") and " install " in call)
    assert " libcriterion-dev " in installed and " chromium" not in installed
    # gcc 12 was written into the list, and Debian 13 has gcc 14.
    gcc = subprocess.run(["/usr/bin/gcc", "-dumpversion"], check=True, capture_output=True, text=True).stdout
    assert f" lib32gcc-{gcc.partition('.')[0].strip()}-dev " in installed and "@" not in installed


def built_below(folder):
    """The folder in which configure() of scripts/lib/build.sh would build for a clone there, and its words."""
    clone = folder / "clone"
    clone.mkdir()
    done = subprocess.run(["bash", "-euc", 'ROOT=$2; source "$1/common.sh"; ROOT=$2; source "$1/build.sh"; '
                           'for_everybody "$ROOT/build"', "x", SOURCE_ROOT / "scripts/lib", clone],
                          check=True, capture_output=True, text=True)
    return (clone / "build").resolve(), done.stdout


def test_roots_build_lies_where_everybody_reads_it():
    """Below /root (mode 0700) the cases that drop root's rights could not read the library: 22 failed."""
    if os.geteuid() != 0:
        skip("only root can read what others cannot")
    with tempfile.TemporaryDirectory() as folder:
        closed = Path(folder)
        build, said = built_below(closed)
        try:
            assert f"{closed}/clone/build is a link to {build}" in said
            subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "ls", build], check=True)
        finally:
            os.removedirs(build)
        (closed / "clone/build").unlink()
        (closed / "clone").rmdir()
        closed.chmod(0o755)
        assert built_below(closed) == ((closed / "clone/build").resolve(), "")


def test_a_block_is_filled_and_can_be_filled_again():
    fill = load("fill-block")
    text = "a\n<!-- demo:begin -->\nold\n<!-- demo:end -->\nb\n"
    once = fill.filled(text, "demo", "1 2\n")
    assert "old" not in once and "```\n1 2\n```" in once
    assert once.startswith("a\n") and once.endswith("\nb\n")
    assert fill.filled(once, "demo", "1 2\n") == once


def test_a_missing_block_is_an_error():
    with pytest.raises(SystemExit, match="no block"):
        load("fill-block").filled("text", "demo", "1 2\n")
