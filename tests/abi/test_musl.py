# SPDX-License-Identifier: MIT
"""A program linked with musl runs under the library, which was built with glibc, and is cured."""

import shutil
from platform import machine

import pytest

from harness import CURING_MODES, MODES, preload_env, program, run, run_judged, skip

pytestmark = pytest.mark.processors(machine())

EXCHANGES = 12


def musl_program(name):
    if shutil.which("musl-gcc") is None:
        skip("musl-gcc is not installed")
    # Debian's musl folder lacks the kernel's headers: they come from the system's, searched last.
    return program(name, "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu",
                   "-idirafter", "/usr/include/aarch64-linux-gnu", cc="musl-gcc")


def measured(name, mode):
    return run_judged(musl_program(name), mode, EXCHANGES)


NAMES = ("put_write", "put_sendmsg", "between_poll", "reader_thread", "write_to_dup", "child_exchanges",
         "body_sendfile")


def test_it_is_a_musl_program():
    with open(musl_program("put_write"), "rb") as binary:
        assert b"ld-musl" in binary.read()


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_musl_program_stalls_where_nothing_is_cured(mode):
    assert measured("put_write", mode).stalls


@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
@pytest.mark.parametrize("name", NAMES)
def test_musl_program_is_cured(name, mode):
    assert measured(name, mode).stalls is (mode == "bare")


@pytest.mark.parametrize("mode", MODES)
def test_musl_program_without_the_pattern_says_nothing(mode):
    done = run([musl_program("plain_unix")], preload_env(mode))
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("mode", CURING_MODES)
def test_musl_setuid_is_answered_by_our_thread(mode):
    """musl asks every thread by signal 34, and waits until all have answered."""
    assert not measured("was_setuid", mode).stalls
