# SPDX-License-Identifier: MIT
"""Programs built with a sanitizer, and programs under valgrind: cured, and nothing is reported.

A sanitizer that is a library of its own must come first in LD_PRELOAD, as it says itself; one that
is linked into the program needs nothing.
"""

import shutil
import subprocess

import pytest

from clients import CLIENTS, EXCHANGES, binary, checking_peer, is_cured
from harness import CURING_MODES, LIB, AnsweringPeer, preload_env, run, run_client, skip

# name: (compiler, flags, runtime to preload before us)
BUILDS = {
    "asan": ("gcc", ("-fsanitize=address,undefined",), "libasan.so"),
    "asan-static": ("gcc", ("-fsanitize=address,undefined", "-static-libasan"), None),
    "asan-clang": ("clang", ("-fsanitize=address,undefined",), None),
    "tsan": ("gcc", ("-fsanitize=thread",), "libtsan.so"),
    "tsan-static": ("gcc", ("-fsanitize=thread", "-static-libtsan"), None),
    "tsan-clang": ("clang", ("-fsanitize=thread",), None),
}


def sanitized(build, client):
    """(binary, LD_PRELOAD)"""
    compiler, flags, runtime = BUILDS[build]
    if shutil.which(compiler) is None:
        skip(f"{compiler} is not installed")
    first = ""
    if runtime:
        found = subprocess.run([compiler, f"-print-file-name={runtime}"], capture_output=True, text=True,
                               check=True)
        first = f"{found.stdout.strip()}:"
    return binary(client, *flags, cc=compiler), f"{first}{LIB}"


@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("build", BUILDS)
def test_sanitized_program_is_cured_and_silent(build, client, mode):
    program, preload = sanitized(build, client)
    done = is_cured(program, mode, LD_PRELOAD=preload, TSAN_OPTIONS="halt_on_error=1:exitcode=66",
                    ASAN_OPTIONS="detect_leaks=0")  # LeakSanitizer needs ptrace, which a container may forbid
    assert done.stderr == ""


def test_no_thread_is_left_for_the_sanitizer():
    """ThreadSanitizer behind us reported the window's thread, ended and not joined: exit code 66."""
    program, _ = sanitized("tsan", "idle_end")
    assert {mode: is_cured(program, mode).stderr for mode in ("auto", "coalesce")} == {
        "auto": "", "coalesce": ""}


@pytest.mark.parametrize("mode", ["cork", "coalesce"])
@pytest.mark.parametrize("build", ["asan", "tsan"])
def test_a_signal_that_the_program_blocks_reaches_no_thread_of_ours(build, mode):
    """Its handler ran in our thread: the one that libc makes for a sanitizer left SIGRTMIN open."""
    program, preload = sanitized(build, "timer_signal")
    with AnsweringPeer() as peer:
        done = run_client(program, mode, *peer.target, 8, 0, "late", UNSTALL_THREAD="always",
                          LD_PRELOAD=preload, ASAN_OPTIONS="detect_leaks=0")
    assert done.facts["taken"] > 0 and done.facts["elsewhere"] == 0


@pytest.mark.parametrize("build, fault",
                         [("asan-static", "heap-use-after-free"), ("tsan-static", "data race")])
def test_the_sanitizer_still_finds_what_is_wrong(build, fault):
    program, preload = sanitized(build, "faulty")
    done = run([program], preload_env("auto", LD_PRELOAD=preload), check=False)
    assert done.returncode != 0 and fault in done.stderr


# ---- valgrind --------------------------------------------------------------

def under_valgrind(*options):
    """The command up to the program."""
    if shutil.which("valgrind") is None:
        skip("valgrind is not installed")
    return ["valgrind", "-q", "--error-exitcode=9", *options]


@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("client", CLIENTS)
def test_under_valgrind(client, mode):
    """Time means little there: the bytes, the end and the silence count."""
    options = ("--leak-check=full", "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite")
    with checking_peer() as peer:
        done = run([*under_valgrind(*options), binary(client), *peer.target, EXCHANGES], preload_env(mode))
    assert '"loaded": true' in done.stdout
    assert done.stderr == ""
