# SPDX-License-Identifier: MIT
"""unstall attach on older kernels: what it does instead, in one line."""

from pathlib import Path

import pytest
from attachments import attached
from running import ALMOST_ALL
from unreached import PINS, is_cured, stalls, talking

from harness import COMMAND, bare_env, compile_c, run, unstall

HERE = Path(__file__).parent / "programs"
TOO_OLD = "the kernel is older than Linux 6.1, and its programs cannot set TCP_NODELAY"


def of_release(release):
    """The environment in which the command takes the kernel for one of this release."""
    return bare_env(LD_PRELOAD=compile_c(HERE / "uname.c", "-shared", "-fPIC"), RELEASE=release)


def test_a_kernel_of_version_2_6_is_refused_in_one_line():
    done = run(["setarch", "--uname-2.6", COMMAND, "attach", "--port", "1"], bare_env(), check=False,
               timeout=20)
    assert (done.returncode, done.stderr) == (125, f"unstall attach: {TOO_OLD}\n")


@pytest.mark.parametrize("release, words, why", [
    ("6.0.19", ["--port", "1"], TOO_OLD),
    ("6.2.0-39-generic", ["--arms", ALMOST_ALL], "an experiment in the kernel needs Linux 6.3"),
    ("6.9.12", ["--mode", "proof"], "mode proof needs Linux 6.10; mode always needs Linux 6.1"),
])
def test_what_a_kernel_cannot_is_refused_in_one_line(release, words, why):
    with talking() as talker:
        target = [] if "--port" in words else [talker.pid]
        done = unstall("attach", *target, *words, env=of_release(release), timeout=20)
        assert (done.returncode, done.stderr) == (125, f"unstall attach: {why}\n")
        assert not PINS.exists() and stalls(talker)


def test_before_linux_6_10_the_mode_is_always_and_it_says_so():
    with talking() as talker:
        with attached(talker.pid, env=of_release("6.9.12")) as a:
            assert "TCP_NODELAY on every connection that lacks it" in a.said
            assert "mode always" in unstall("attach", "--list").stdout
            assert is_cured(talker)
        with attached(talker.pid, env=of_release("6.10.0")) as a:
            assert "where a stall is proved" in a.said


def test_before_linux_6_1_a_process_is_cured_without_bpf_programs():
    with talking() as talker, attached(talker.pid, env=of_release("6.0.19")) as a:
        assert "by pidfd_getfd" in a.said and TOO_OLD in a.said
        assert is_cured(talker)
