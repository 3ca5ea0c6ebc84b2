# SPDX-License-Identifier: MIT
"""The scripts explain themselves, refuse unknown words, and the tree keeps its habits."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from scripts import load

from harness import SOURCE_ROOT, need_root

pytestmark = pytest.mark.no_library

COMMANDS = ["arch", "attach-cost", "attach-stress", "day", "setup", "test", "demo", "docs",
            "foreign-suites", "fuzz", "gallery", "experiments", "house", "mutate", "package", "pictures",
            "releases", "sanitize", "soak", "tidy"]
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


@pytest.mark.parametrize("command, word", [("sanitize", "memory"), ("fuzz", "everything"), ("house", "none")])
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


@pytest.fixture
def setup(tmp_path):
    """scripts/setup with nothing installed: (what it did, the calls that would change the machine).  apt and
    all of these are stand-ins that only log."""
    log = tmp_path / "log"

    def run_setup(*options, **candidates):
        known = "".join(f'[{name.replace("_", "-")}]="{version}" ' for name, version in candidates.items())
        answers = {
            "dpkg-query": "exit 1",
            "apt-cache": f'declare -A known=({known})\nfor p in "${{@:2}}"; do v=${{known[$p]-20}}; '
                         '[[ -z $v ]] || printf "%s:\\n  Candidate: %s\\n" "$p" "$v"; done',
            "apt-get": 'if [[ $* == *--assume-no* ]]; then echo "0 upgraded, 7 newly installed, 0 to remove'
                       ' and 0 not upgraded."; echo "Need to get 1.5 MB/68.4 MB of archives.";'
                       ' echo "After this operation, 263 MB of additional disk space will be used."; '
                       'exit 1; fi',
            "sudo": 'exec "$@"'}
        for name in ("dpkg-query", "apt-cache", "sudo", "apt-get", "tee", "chmod", "rm", "systemctl"):
            stand_in = tmp_path / name
            stand_in.write_text(f'#!/bin/bash\necho "{name} $*" >>{log}\n'
                                f'{answers.get(name, "cat >/dev/null")}\n')
            stand_in.chmod(0o755)
        for name in ("bash", "cat", "dirname", "dpkg", "env", "paste", "sed"):
            (tmp_path / name).symlink_to(shutil.which(name))
        done = subprocess.run([SOURCE_ROOT / "scripts/setup", *options], env={"PATH": str(tmp_path)},
                              text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        return done, [call for call in log.read_text().splitlines()
                      if not call.startswith(("dpkg-query", "apt-cache")) and "--assume-no" not in call]
    return run_setup


def installs(calls):
    """The packages that apt-get would install."""
    return next(call for call in calls if call.startswith("apt-get") and " install " in call).split()


def test_setup_leaves_out_a_package_that_apt_does_not_have(setup):
    """It failed as a whole."""
    done, calls = setup("--test", chromium="")
    assert done.returncode == 0, done.stderr
    assert "apt has no package chromium here" in done.stdout
    assert "libcriterion-dev" in installs(calls) and "chromium" not in installs(calls)
    # gcc 12 was written into the list, and Debian 13 has gcc 14.
    gcc = subprocess.run(["/usr/bin/gcc", "-dumpversion"], check=True, capture_output=True, text=True).stdout
    assert f"lib32gcc-{gcc.partition('.')[0].strip()}-dev" in installs(calls)
    assert "@" not in " ".join(installs(calls))


@pytest.mark.parametrize("options, there, absent", [
    ([], {"gcc", "meson", "libelf-dev", "libseccomp-dev"},
     {"clang", "libbpf-dev", "python3-numpy", "scdoc", "strace"}),
    (["--full"], {"gcc", "clang", "libbpf-dev", "python3-numpy", "scdoc"}, {"strace"}),
    (["--demo"], {"gcc", "strace"}, {"clang", "scdoc"}),
    (["--package"], {"gcc", "clang", "scdoc", "build-essential", "debhelper"}, {"strace"}),
    (["--test"], {"gcc", "clang", "scdoc", "libcriterion-dev", "ruby", "strace"}, {"build-essential"}),
])
def test_setup_brings_what_was_asked_for_and_no_more(setup, options, there, absent):
    """It brought clang and matplotlib to who wanted the library: 192 packages for 79."""
    done, calls = setup(*options)
    assert done.returncode == 0, done.stderr
    assert there <= set(installs(calls)) and not absent & set(installs(calls))


def test_setup_says_before_it_installs_how_much_that_is(setup):
    done, _ = setup()
    assert re.search(r"\n  libelf-dev +the command looks into programs\n", done.stdout)
    assert "with what they need: 7 packages, 1.5 MB to download, 263 MB on the disk" in done.stdout


@pytest.mark.parametrize("candidates, tool", [
    ({"meson": "0.56.2-1", "ninja_build": "1.10.1-1"}, "meson 1.0.1"),    # Debian 11
    ({"meson": "0.61.2-1", "ninja_build": "1.10.1-1"}, "meson 1.0.1"),    # Ubuntu 22.04
    ({"meson": "1.0.1-5", "ninja_build": "1.10.1-1"}, "ninja 1.11"),
])
@pytest.mark.parametrize("option", ["--demo", "--test"])
def test_on_a_system_that_is_too_old_nothing_is_installed(setup, option, candidates, tool):
    """139 MB were installed, and then Meson refused to build."""
    done, calls = setup(option, **candidates)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert f"this system is too old to build on: {tool} is needed" in done.stderr
    assert "scripts/package --portable" in done.stderr and "docs/deploy.md" in done.stderr
    assert [call for call in calls if "update" not in call] == []


def built_below(folder):
    """The folder in which configure() of scripts/lib/build.sh would build for a clone there, and its
    words."""
    clone = folder / "clone"
    clone.mkdir()
    done = subprocess.run(["bash", "-euc", 'ROOT=$2; source "$1/common.sh"; ROOT=$2; source "$1/build.sh"; '
                           'for_everybody "$ROOT/build"', "x", SOURCE_ROOT / "scripts/lib", clone],
                          check=True, capture_output=True, text=True)
    return (clone / "build").resolve(), done.stdout


def test_roots_build_lies_where_everybody_reads_it():
    """Below /root (mode 0700) the cases that drop root's rights could not read the library: 22 failed."""
    need_root("can read what others cannot")
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
