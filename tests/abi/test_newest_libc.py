# SPDX-License-Identifier: MIT
"""The library, built with this machine's libc, under the newest one: what that has more than the libc of
surface.def is exported too, or judged harmless in new_names.txt."""

import re
import shutil
import subprocess
from pathlib import Path
from platform import machine

import pytest

from harness import (CURING_MODES, MODES, SOURCE_ROOT, AnsweringPeer, bare_env, compile_rust, judged,
                     mode_env, pattern, program, run, run_client, skip)
from harness.newest_libc import Unavailable, fetch, newest_libc

pytestmark = pytest.mark.processors(machine())

HERE = Path(__file__).parent

# surface.def was written against this version.
WRITTEN_AGAINST = (2, 36)

EXCHANGES = 8
MESSAGES = 20 + 1 + EXCHANGES

PIDFD = ("pidfd_spawn", "pidfd_spawnp")


def surface():
    text = (SOURCE_ROOT / "src/preload/sys/surface.def").read_text(encoding="utf-8")
    return set(re.findall(r"^ROW\((\w+),", text, re.M))


def several_versions():
    """The names of which the library exports more than one version on this machine."""
    text = run(["gcc", "-E", "-P", "-x", "c", "-DVERSION=VERSION",
                SOURCE_ROOT / "src/preload/sys/surface.def"], bare_env()).stdout
    return set(re.findall(r"^VERSION\(\w+, (\w+),", text, re.M))


def definitions(libc):
    """(name, version, address) of what a libc exports."""
    nm = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", libc], check=True,
                        capture_output=True, text=True).stdout
    rows = re.findall(r"^([0-9a-f]+) [A-Za-z] (\w+)@@?GLIBC_([0-9.]+)$", nm, re.M)
    return [(name, tuple(map(int, version.split("."))), address) for address, name, version in rows]


def unjudged(found, names, harmless):
    """The names that came since, and of which nobody has said what they are."""
    return {name for name, version, _ in found if version > WRITTEN_AGAINST} - names - harmless


def unversioned(found, names, versions):
    """The names of the surface of which this libc has several definitions, and we one: an old program would
    reach another definition than bare."""
    places = {}
    for name, _, address in found:
        places.setdefault(name, set()).add(address)
    return {name for name in names if len(places.get(name, ())) > 1} - versions


def reasons_of(text):
    """Name -> the reason of its paragraph in new_names.txt."""
    found = {}
    for paragraph in re.sub("^#.*\n", "", text, flags=re.M).split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        reason = " ".join(line for line in lines if not line.startswith("    "))
        for name in " ".join(line for line in lines if line.startswith("    ")).split():
            assert name not in found, f"{name} stands twice"
            found[name] = reason
    return found


HARMLESS = reasons_of((HERE / "new_names.txt").read_text(encoding="utf-8"))


def test_each_name_that_came_since_is_exported_or_judged_harmless():
    found = definitions(newest_libc().path)
    assert len(found) > 2000
    assert unjudged(found, surface(), set(HARMLESS)) == set()


def test_no_name_of_the_surface_has_got_another_definition():
    assert unversioned(definitions(newest_libc().path), surface(), several_versions()) == set()


def test_the_list_has_only_names_that_are_there_and_not_ours():
    assert set(HARMLESS) - {name for name, _, _ in definitions(newest_libc().path)} == set()
    assert set(HARMLESS) & surface() == set()
    assert all(HARMLESS.values())


def test_a_reason_is_read_with_its_names():
    assert reasons_of("# what this is\n\nNo\nwait.\n    a b\n    c\n\nNo fork.\n    d\n") == {
        "a": "No wait.", "b": "No wait.", "c": "No wait.", "d": "No fork."}


def test_a_new_name_and_a_new_version_are_found():
    found = [("write", (2, 2, 5), "a1"), ("write", (2, 99), "a2"), ("write_soon", (2, 99), "a3"),
             ("strlcpy", (2, 38), "a4"), ("getpid", (2, 2, 5), "a5")]
    assert unjudged(found, {"write"}, {"strlcpy"}) == {"write_soon"}
    assert unversioned(found, {"write"}, set()) == {"write"}
    assert unversioned(found, {"write"}, {"write"}) == set()


def test_where_there_is_no_network_it_says_so_and_leaves_nothing(tmp_path):
    with pytest.raises(Unavailable, match="Could not connect|Failed to fetch"):
        fetch(tmp_path / "libc", ["http://127.0.0.1:9/debian"])
    with pytest.raises(Unavailable, match="no package source"):
        fetch(tmp_path / "libc", [])
    assert list(tmp_path.iterdir()) == []


def spawned(argv, mode, how):
    """Runs the program; gives what it was started by, and what the program that it started found."""
    def measure():
        with AnsweringPeer() as peer:
            done = run_client(argv[0], mode, *argv[1:], *peer.target, EXCHANGES, 0, how)
        assert bytes(peer.connections[0].received) == pattern(MESSAGES * 300)
        return done

    done = judged(measure, mode in CURING_MODES)
    return done.stdout.splitlines()[:-1], done.stalls


@pytest.mark.parametrize("how", ["posix_spawn", *PIDFD])
@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_a_program_that_is_started_finds_the_options_and_its_bytes_come_after_ours(mode, how):
    """pidfd_spawn and pidfd_spawnp of glibc 2.39 went round us: the new program read TCP_NODELAY=1, and what
    it wrote came before what coalesce had buffered."""
    argv = newest_libc().runs([program("was_spawned_by_pidfd")])
    assert spawned(argv, mode, how) == (["second: nodelay 0 cork 0", f"by {how}"], mode not in CURING_MODES)


@pytest.mark.parametrize("how", PIDFD)
@pytest.mark.parametrize("mode", MODES)
def test_where_libc_lacks_the_name_a_weak_reference_to_ours_leads_to_the_other_way(mode, how):
    """With this machine's libc; a name that it lacks gave -1, which is no number of an error."""
    argv = [program("was_spawned_by_pidfd")]
    bare, _ = spawned(argv, "bare", how)
    assert bare[0] == "second: nodelay 0 cork 0"
    assert spawned(argv, mode, how) == (bare, mode not in CURING_MODES)


@pytest.mark.parametrize("newest", [False, True], ids=["this libc", "the newest libc"])
@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_a_child_of_rust_with_a_pidfd_is_made(mode, newest, monkeypatch):
    """"Unknown error -1": with Linux 6.13 std needs nothing but pidfd_spawnp, and took ours for libc's."""
    if shutil.which("rustc") is None:
        skip("rustc is not installed")
    monkeypatch.setenv("RUSTC_BOOTSTRAP", "1")
    argv = [compile_rust(HERE / "child_pidfd.rs")]
    done = run(newest_libc().runs(argv) if newest else argv, mode_env(mode))
    assert done.stdout == "pidfd true, ended with Some(5)\n"
