# SPDX-License-Identifier: MIT
"""Experiments on a live server: assignment, decision, the guard and the kill switch."""

import contextlib
import signal
import subprocess
import threading
import time

import pytest
from trial import (EVEN, PROGRAMS, Histogram, ab, alive, begun, client, measured, server_command,
                   wait_until_it_listens)

from harness import (COMMAND, LIB, bare_env, compile_c, control_of, free_port, run, spawned, stats_directory,
                     wait_for)

EXCHANGES = 10


@contextlib.contextmanager
def load_on(port, connections, exchanges=EXCHANGES, folder=None):
    """Connections to a server that is about to listen, in the background; to one that has its statistics in
    `folder` once it has arms."""
    def send():
        with contextlib.suppress(AssertionError):
            wait_until_it_listens(port)
            wait_for(lambda: not folder or control_of(folder)["arms"])
            subprocess.run(client(port, exchanges, "one", connections), env=bare_env(), check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()


def ab_until_served(load, *words):
    """`unstall ab --live WORD...` until the load has been served; gives its exit code and output."""
    child = begun("--live", *words)
    load.join()
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    return child.returncode, out, err


@contextlib.contextmanager
def running_server(pieces=2):
    """A server under the library with a statistics file: (pid, port, folder)."""
    port = free_port()
    with stats_directory() as folder, \
            spawned([COMMAND, "run", "--stats", folder, "--mode", "off", "--",
                     *server_command(port, 0, pieces)]) as child:
        wait_until_it_listens(port)
        yield child.pid, port, folder


def test_the_stall_is_in_the_off_connections_and_in_no_other(tmp_path):
    port = free_port()
    with load_on(port, 40):
        done = ab("--live", "--time", 7, *EVEN, "--json", tmp_path / "r.json", "--",
                  *server_command(port, 0, 2))
    assert done.returncode == 0, done.stderr
    assert "auto wins" in done.stdout
    value = measured(tmp_path / "r.json")
    slow = {arm: [Histogram.of_json(unit["histogram"]).at_least(33_000_000) for unit in value["units"]
                  if unit["arm"] == arm] for arm in ("off", "auto")}
    assert 8 <= len(slow["off"]) <= 32 and 8 <= len(slow["auto"]) <= 32
    assert min(slow["off"]) >= 5  # of nine; the first ones of a connection never stall
    assert max(slow["auto"]) <= 3 and sum(slow["auto"]) <= len(slow["auto"])
    totals = {unit["arm"]: unit for unit in value["totals"]}
    assert sum(unit["connections"] for unit in totals.values()) >= 40
    assert alive(str(port)) == []


def test_a_running_process_becomes_an_experiment_and_is_itself_again_afterwards(tmp_path):
    """Only connections made after the change count; --until-sure ends it; the process lives on."""
    with running_server() as (pid, port, folder):
        run(client(port, 5, "one", 4), bare_env(), timeout=30)  # before: is in no arm
        with load_on(port, 60, folder=folder):
            done = ab("--live", pid, *EVEN, "--until-sure", "--time", 60, "--json", tmp_path / "r.json")
        assert done.returncode == 0, done.stderr
        assert "Ended early" in done.stdout and "auto wins" in done.stdout
        assert f"To deploy: unstall set {pid} auto" in done.stdout
        assert control_of(folder)["arms"] == [] and not control_of(folder)["killed"]
        value = measured(tmp_path / "r.json")
        assert value["ending"] == "sure"
        assert sum(unit["exchanges"] for unit in value["totals"]) <= 60 * EXCHANGES
        run(client(port, 2, "one"), bare_env(), timeout=30)


SIGNALLING = """#!/bin/sh
case "$*" in
*"--arms none"*) kill -INT -"$AB_GROUP";;
esac
exec {} "$@"
"""


@pytest.mark.parametrize("seconds", [1, 60])
def test_a_ctrl_c_while_the_experiment_ends_leaves_the_process_itself_again(seconds, tmp_path):
    """The terminal sends it to the whole group: the first one when the time is over, or the second one.  It
    ended `unstall set --arms none`, and the experiment went on for ever."""
    steers = tmp_path / "unstall"
    steers.write_text(SIGNALLING.format(COMMAND), encoding="utf-8")
    steers.chmod(0o755)
    with running_server() as (pid, _, folder):
        words = f'export AB_GROUP=$$; exec {COMMAND} ab --live {pid} --time {seconds} --unstall {steers}'
        child = subprocess.Popen(["sh", "-c", words], env=bare_env(), start_new_session=True,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: control_of(folder)["arms"] or child.poll() is not None)
        if seconds > 1:
            child.send_signal(signal.SIGINT)
        assert child.wait(30) > 0  # an end by itself
        assert control_of(folder)["arms"] == []


def test_the_guard_turns_a_harmful_arm_off(tmp_path):
    """Under harm.c MSG_MORE takes 100 ms, so that auto is the worse arm; later connections are as fast as
    off."""
    harm = compile_c(PROGRAMS / "harm.c", "-shared", "-fPIC")
    port = free_port()
    with load_on(port, 60):
        done = ab("--live", *EVEN, "--time", 14, "--stop-if", "worse", "--min-exchanges", 4, "--json",
                  tmp_path / "r.json", "--", "env", f"LD_PRELOAD={LIB}:{harm}", *server_command(port, 0, 2))
    assert done.returncode == 5, done.stdout + done.stderr
    said = " ".join(done.stderr.split())
    assert "auto is surely worse than off: all connections are in mode off now" in said
    assert "The guard has set all connections to mode off." in done.stdout
    value = measured(tmp_path / "r.json")
    assert value["ending"] == "guard" and value["events"][0]["at_s"] < 13
    assert alive(str(port)) == []


def test_the_guard_leaves_a_running_process_killed_and_alive():
    harm = compile_c(PROGRAMS / "harm.c", "-shared", "-fPIC")
    port = free_port()
    with stats_directory() as folder, spawned(server_command(port, 0, 2), bare_env(
            LD_PRELOAD=f"{LIB}:{harm}", UNSTALL_STATS=folder, UNSTALL_MODE="off")) as child:
        with load_on(port, 60, folder=folder):
            wait_until_it_listens(port)
            done = ab("--live", child.pid, *EVEN, "--stop-if", "worse", "--min-exchanges", 4, "--time", 25)
        assert done.returncode == 5, done.stdout + done.stderr
        assert control_of(folder)["killed"]
        assert child.poll() is None
        assert f"unstall set {child.pid} --unkill" in " ".join(done.stdout.split())


def test_the_guard_leaves_a_harmless_arm_alone():
    port = free_port()
    with load_on(port, 40) as load:
        code, out, err = ab_until_served(load, *EVEN, "--stop-if", "worse", "--", *server_command(port, 0, 2))
    assert code == 0, err
    assert "guard" not in out and "auto wins" in out


def test_the_kill_switch():
    with running_server() as (pid, port, folder):
        done = ab("--live", pid, "--kill")
        assert done.returncode == 0 and f"unstall set {pid} --unkill" in done.stdout
        assert control_of(folder)["killed"]


def test_an_assignment_is_repeated_by_its_seed(tmp_path):
    """The same seed gives the connection with a number the same arm."""
    found = []
    for seed in (7, 7, 8):
        port, path = free_port(), tmp_path / "r.json"
        with load_on(port, 24, 2) as load:
            ab_until_served(load, "--seed", seed, "--min-exchanges", 1, "--json", path, "--",
                            *server_command(port))
        units = measured(path)["units"]
        found.append({unit["name"].rpartition("-")[2]: unit["arm"] for unit in units})
    common = found[0].keys() & found[1].keys()
    assert len(common) > 15 and all(found[0][key] == found[1][key] for key in common)
    assert any(found[0][key] != found[2][key] for key in common & found[2].keys())


def test_by_peer_all_connections_of_an_address_are_one_unit(tmp_path):
    port = free_port()
    with load_on(port, 12, 3) as load:
        code, out, _ = ab_until_served(load, "--assign", "peer", "--json", tmp_path / "r.json", "--",
                                       *server_command(port))
    units = measured(tmp_path / "r.json")["units"]
    assert [unit["name"] for unit in units] == ["127.0.0.1"]
    assert units[0]["connections"] >= 12
    assert code == 2 and "Nothing to compare" in out


def test_segments_of_processes_merge(tmp_path):
    """Two servers that ran with UNSTALL_ARMS, as on two hosts; histograms add up."""
    with stats_directory() as one, stats_directory() as other:
        folders = (one, other)
        for seed, folder in enumerate(folders):
            port = free_port()
            child = subprocess.Popen(server_command(port, 0, 2), env=bare_env(
                LD_PRELOAD=LIB, UNSTALL_STATS=folder, UNSTALL_ARMS="off:50,auto:50", UNSTALL_SEED=seed))
            with load_on(port, 20):
                pass
            child.send_signal(signal.SIGTERM)
            child.wait()
        done = ab("--merge", f"web1={folders[0]}", f"web2={folders[1]}", "--json", tmp_path / "r.json")
        assert done.returncode == 0, done.stderr
        assert "auto wins" in done.stdout and "web2: auto" in done.stdout
        totals = measured(tmp_path / "r.json")["totals"]
        assert sum(unit["exchanges"] for unit in totals) >= 2 * 20 * (EXCHANGES - 1)


def test_without_traffic_there_is_not_enough_data():
    """It ended as if the program had failed."""
    done = ab("--live", "--time", 2, "--", *server_command(free_port(), 0, 2))
    assert done.returncode == 2
    assert "was there traffic on new connections?" in done.stderr and "nothing was measured" in done.stderr


def test_a_server_that_dies_is_told():
    done = ab("--live", "--time", 5, "--", "sh", "-c", "echo broken >&2; exit 3")
    assert done.returncode == 3
    assert "ended with exit code 3" in done.stderr and "broken" in done.stderr


@pytest.mark.parametrize("with_time, code", [(True, 130), (False, 0)])
def test_an_interrupt_ends_what_has_no_other_end(with_time, code):
    port = free_port()
    words = ["--time", "60"] if with_time else []
    with load_on(port, 40) as load:
        ended, out, err = ab_until_served(load, *words, "--", *server_command(port, 0, 2))
    assert ended == code, err
    assert "auto wins" in out
    assert alive(str(port)) == []
