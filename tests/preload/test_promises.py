# SPDX-License-Identifier: MIT
"""The peer gets the same bytes, the program the same results: random traffic, floods, kills, errors."""

import json
import re
import time

import pytest

from harness import (LIB, MODES, AnsweringPeer, Connection, Peer, SilentPeer, bare_env, least, mode_env,
                     patiently, pattern, program, run, run_client, run_judged)


class PerThousandPeer(Peer):
    """Answers one byte for each thousand bytes as they come."""

    def serve(self, connection: Connection):
        while connection.take(1000) is not None:
            connection.socket.sendall(b"k")


HOLDING = ("cork", "coalesce", "auto")


@pytest.mark.parametrize("mode", HOLDING)
@pytest.mark.parametrize("window_us", [500, 100000])
def test_random_traffic_arrives_whole_within_other_windows(mode, window_us):
    """tests/torture has the modes and the operations, all with the usual window of 1 ms."""
    with PerThousandPeer() as peer:
        run_client(program("random_writes"), mode, *peer.target, 0, 0, 1, timeout=30,
                   UNSTALL_WINDOW_US=window_us)
    assert bytes(peer.connections[0].received) == pattern(400000)


class SlowPeer(Peer):
    """Reads little by little, so that the writer's buffer is full most of the time."""

    def serve(self, connection: Connection):
        while connection.take(30000) is not None:
            time.sleep(0.001)


@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_flood_meets_no_eagain_of_ours(mode):
    with SlowPeer() as peer:
        done = run_client(program("flood_edge_triggered"), mode, *peer.target, timeout=30)
    assert bytes(peer.connections[0].received) == pattern(3000000)
    assert done.facts["full"] > 0


@pytest.mark.parametrize("mode", HOLDING)
@pytest.mark.parametrize("how", ["BY_SYSCALL", "BY_CONDITION"])
def test_a_writer_that_waits_for_its_reader_holds_nothing(how, mode):
    """tiny_http in Rust: 2.15 ms an answer in coalesce, by the window, where it is 0.27 with TCP_NODELAY."""
    assert not run_judged(program("reader_thread", f"-D{how}"), mode, 12, UNSTALL_WINDOW_US=100000).stalls


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "coalesce"])
def test_killed_program_has_sent_what_it_wrote(mode):
    with AnsweringPeer() as peer:
        done = run([program("killed_after_writing"), *peer.target], mode_env(mode), check=False)
    assert done.returncode == -9
    assert bytes(peer.connections[0].received) == pattern(4 * 300)


def results_on_a_broken_connection(first, mode):
    out = run_client(program("broken_connection"), mode, first).stdout
    return [line for line in out.splitlines() if not line.startswith("{")]


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "coalesce"])
@pytest.mark.parametrize("first", ["write", "send", "read", "option"])
def test_errors_and_signals_are_the_bare_ones(first, mode):
    assert results_on_a_broken_connection(first, mode) == results_on_a_broken_connection(first, "bare")


@pytest.mark.parametrize("first", ["write", "send", "read", "option"])
def test_coalesce_delivers_the_error_of_its_own_send_later_and_once(first):
    """Buffered bytes have no error yet; the turn's end meets it, the next call but one tells it."""
    lines = results_on_a_broken_connection(first, "coalesce")
    assert [line for line in lines if "reset by peer" in line]
    assert lines[-3].startswith("write: -1 Broken pipe, SIGPIPE")
    assert [line.split(", SIGPIPE")[0] for line in lines[-2:]] == [
        "shutdown: -1 Transport endpoint is not connected", "close: 0 "]


@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_cancelled_threads_leave_no_lock(mode):
    with SilentPeer() as peer:
        run_client(program("cancelled"), mode, *peer.target, timeout=20)
    received = bytes(peer.connections[0].received)
    # A thread may be cancelled in its first write: only whole writes count, in their order.
    halves = {pattern(300, 300 * i)[:200]: i for i in range(20)}
    assert len(received) % 100 == 0 and received[:200] in halves


@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_records_of_many_threads_stay_whole(mode):
    with SilentPeer() as peer:
        run_client(program("one_record_each"), mode, *peer.target, timeout=30)
    records = bytes(peer.connections[0].received).decode().splitlines(keepends=True)
    assert len(records) == 4 * 500
    for letter in "ABCD":
        own = [record for record in records if record.startswith(letter)]
        assert [int(record[1:6]) for record in own] == list(range(500))
        assert all(re.fullmatch(rf"{letter}\d{{5}}{letter}.{{56}}\n", record, re.S) for record in own)


DELAY_US = 600000


def run_delayed(calls, name, mode, *arguments, trace, **variables):
    """Run a program in which each of these system calls takes DELAY_US; gives its facts."""
    env = {"LD_PRELOAD": LIB, "UNSTALL_MODE": mode, **variables}
    with AnsweringPeer() as peer:
        done = run(["strace", "-f", "-qq", "-o", trace, *(f"-E{name}={value}" for name, value in env.items()),
                    "-e", f"trace={calls}", "-e", f"inject={calls}:delay_enter={DELAY_US}", program(name),
                    *peer.target, *arguments], bare_env(), timeout=60)
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["loaded"]
    return facts


# In cork and coalesce every exchange of both connections has such a call.
@pytest.mark.parametrize("mode", ["nodelay", "auto"])
def test_no_lock_is_shared_between_connections(mode, tmp_path):
    """The library's calls under one connection's lock take 600 ms here: another connection goes on."""
    def waits():
        """Whether it waits.  On a busy machine a window ends in it, too, which takes another 600 ms."""
        facts = run_delayed("setsockopt,getsockopt", "apart", mode, 20, trace=tmp_path / "trace")
        assert facts["burst_us"] >= DELAY_US
        return facts["meanwhile"] < 3

    assert not least(waits, True)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "off"])
def test_a_reader_that_is_cancelled_inside_the_lock_gives_it_back(mode, tmp_path):
    patiently(lambda: run_delayed("setsockopt", "cancelled_in_lock", mode, 1, trace=tmp_path / "trace",
                                  UNSTALL_QUICKACK="always"))
