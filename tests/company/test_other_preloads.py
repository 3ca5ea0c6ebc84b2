# SPDX-License-Identifier: MIT
"""Another preloaded library before us or behind us: both do their work."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

from clients import CLIENTS, binary, is_cured
from harness import CURING_MODES, LIB, preload_env, run, run_strace, run_with_peer, skip

FOLDER = Path("/usr/lib") / (sysconfig.get_config_var("MULTIARCH") or "")
OTHERS = {
    "jemalloc": FOLDER / "libjemalloc.so.2",
    "faketime": FOLDER / "faketime/libfaketime.so.1",
    "faketimeMT": FOLDER / "faketime/libfaketimeMT.so.1",
    "eatmydata": FOLDER / "libeatmydata.so",
}
FAKE = {"FAKETIME": "-3650d", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def both(order, *names):
    """LD_PRELOAD with us first or last."""
    for name in names:
        if not OTHERS[name].exists():
            skip(f"{OTHERS[name]} is not installed")
    others = [str(OTHERS[name]) for name in names]
    return ":".join([str(LIB), *others] if order == "first" else [*others, str(LIB)])


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("client", CLIENTS)
def test_cured_beside(client, mode, other, order):
    is_cured(binary(client), mode, LD_PRELOAD=both(order, other), **FAKE)


# (jemalloc and faketime clash with each other.)
@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("others", [("jemalloc", "eatmydata"), ("faketime", "eatmydata")], ids="-".join)
@pytest.mark.parametrize("mode", CURING_MODES)
def test_cured_beside_two_others(mode, others, order):
    is_cured(binary("put_write"), mode, LD_PRELOAD=both(order, *others), **FAKE)


# ---- the others still work ---------------------------------

@pytest.mark.parametrize("order", ["first", "last"])
def test_time_is_still_faked(order):
    env = preload_env(LD_PRELOAD=both(order, "faketime"), FAKETIME="@2001-02-03 04:05:06", TZ="UTC")
    assert run(["/bin/date", "+%Y-%m-%d"], env).stdout == "2001-02-03\n"


@pytest.mark.parametrize("order", ["first", "last"])
def test_the_window_ends_by_the_kernels_clock(order):
    """Its thread asked the faked clock how long it was to sleep, and slept for ten days."""
    done = run_with_peer("changes_habit", "cork", 30, UNSTALL_THREAD="always",
                         LD_PRELOAD=both(order, "faketime"), FAKETIME="+10d")
    kept = sorted(done.facts["kept_ms"])
    assert kept[len(kept) // 2] < 100, kept


@pytest.mark.parametrize("order", ["first", "last"])
def test_no_fsync_is_made(order, tmp_path):
    argv = ["/usr/bin/python3", "-S", "-c", "import os; os.fsync(os.open('file', os.O_CREAT | os.O_WRONLY))"]
    env = preload_env("cork", LD_PRELOAD=both(order, "eatmydata"))
    trace = run_strace(argv, env, cwd=tmp_path)
    assert trace.loaded and "fsync" not in {call.name for call in trace.calls}
    assert "fsync" in {call.name for call in run_strace(argv, preload_env("cork"), cwd=tmp_path).calls}


@pytest.mark.parametrize("order", ["first", "last"])
def test_memory_still_comes_from_the_other_allocator(order):
    env = preload_env(LD_PRELOAD=both(order, "jemalloc"), MALLOC_CONF="stats_print:true")
    assert "Begin jemalloc statistics" in run(["/bin/true"], env).stderr


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("other", OTHERS)
def test_a_shell_with_children_says_what_it_says_bare(other, order):
    script = "x=$(printf '%s' a | cat; (echo b; exit 3)); echo \"$x $?\"; exec echo end"
    env = preload_env(LD_PRELOAD=both(order, other), **FAKE)
    done = subprocess.run(["/bin/sh", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("ab 3\nend\n", "")
