# SPDX-License-Identifier: MIT
"""The library for containers: one file for glibc from 2.17 on and for musl."""

import re
import shutil
from platform import machine

import pytest
from made import portable, run
from roots import cured, inside, older_root

from harness import LIB, patiently, program, run_judged, skip

FLOOR = (2, 17)


def imported(path):
    """name -> version of libc that it asks for."""
    lines = run("objdump", "-T", path)
    return {name: tuple(map(int, version.split(".")))
            for version, name in re.findall(r"\*UND\*\s+\S+\s+\(?GLIBC_([0-9.]+)\)?\s+(\w+)$", lines, re.M)}


def test_every_imported_name_is_in_glibc_2_17():
    versions = imported(portable())
    assert len(versions) > 20 and "dlsym" in versions
    assert {name: version for name, version in versions.items() if version > FLOOR} == {}


def test_this_test_finds_a_newer_name():
    """The library of the packages asks for names of glibc 2.34, where it is built with a newer one."""
    assert {name for name, version in imported(LIB).items() if version > FLOOR} >= {"dlsym", "dladdr"}


def test_it_needs_the_parts_of_libc_alone():
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", portable())))
    loaders = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld-linux.so.2"}
    assert needed - loaders == {"libc.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}


def stalls(binary, mode):
    return run_judged(binary, mode, 12, LD_PRELOAD=portable()).stalls


@pytest.mark.parametrize("mode", ["auto", "nodelay", "cork", "coalesce"])
def test_a_program_of_this_machine_is_cured(mode):
    assert not stalls(program("put_write"), mode)


@pytest.mark.parametrize("mode", ["auto", "coalesce"])
def test_a_musl_program_is_cured(mode):
    if shutil.which("musl-gcc") is None:
        skip("musl-gcc is not installed")
    binary = program("put_write", "-idirafter", "/usr/include", "-idirafter",
                     f"/usr/include/{machine()}-linux-gnu", cc="musl-gcc")
    assert not stalls(binary, mode)


@pytest.mark.parametrize("mode", ["off", "auto", "nodelay", "cork", "coalesce"])
def test_a_program_of_debian_11_is_cured(mode):
    """glibc 2.31, where libdl and libpthread are still libraries of their own: Debian's perl of that time."""
    root = older_root()

    def attempt():
        assert cured(root, portable(), mode) is (mode != "off")
    patiently(attempt)


def test_the_library_of_the_packages_does_not_load_there():
    """Why there are two."""
    root = older_root()
    shutil.copy(LIB, root / "newer.so")
    assert "GLIBC_2.34" in inside(root, "/usr/bin/perl", "-e", "1", LD_PRELOAD="/newer.so").stderr
