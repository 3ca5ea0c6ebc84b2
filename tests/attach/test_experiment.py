# SPDX-License-Identifier: MIT
"""unstall ab --live of programs without the library: the kernel gives the arms, and measures."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from running import ALMOST_ALL, carrying, experiment, pid_of
from unreached import KINDS, is_cured, stalls, talking, wait_until

from harness import COMMAND, bare_env, cgroup, patiently, preload_env, spawned, unstall

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

from trial import EVEN, Histogram, ab, answering, client, measured  # noqa: E402

# They judge shares of stalls: where the host takes the processors, nothing can be said of them.
pytestmark = pytest.mark.unstarved


@contextlib.contextmanager
def load_on(port, connections, exchanges=10):
    """Connections to a server, in the background."""
    def send():
        subprocess.run(client(port, exchanges, "one", connections), env=bare_env(), check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def arms_of(path):
    """The units of each arm."""
    units = measured(path)["units"]
    return {arm: [unit for unit in units if unit["arm"] == arm] for arm in ("off", "nodelay")}


# ---- the answer ---------------------------------------------------------------


def test_the_stall_is_in_the_off_connections_and_in_no_other(tmp_path):
    path = tmp_path / "r.json"
    with answering(0, 2) as port, load_on(port, 80):
        pid = pid_of(port)
        done = ab("--live", pid, *EVEN, "--until-sure", "--min-exchanges", 8, "--time", 60, "--json", path)
    assert done.returncode == 0, done.stderr
    assert "nodelay wins" in done.stdout and "Ended early" in done.stdout
    assert f"To deploy: unstall attach --detach --mode always {pid}\n" in done.stdout
    assert f"target  {pid}, arms given in the kernel" in done.stdout
    value = measured(path)
    assert value["experiment"]["target"] == str(pid) and value["experiment"]["arms"] == ["off", "nodelay"]
    arms = arms_of(path)
    slow = {arm: [Histogram.of_json(unit["histogram"]).at_least(33_000_000) for unit in units]
            for arm, units in arms.items()}
    assert len(slow["off"]) >= 5
    # On a busy machine a peer that is late acknowledges with its answer, and any exchange may be slow.
    stalls_of = {arm: sum(unit["stalls"] for unit in units) for arm, units in arms.items()}
    # The stall of a connection's last answer is proved, but no request follows that would end its exchange.
    assert sum(slow["off"]) + len(slow["off"]) >= stalls_of["off"] >= len(slow["off"])
    assert stalls_of["nodelay"] == 0
    assert value["analysis"]["against"][0]["difference"]["value"] < -5


def test_a_program_that_does_not_stall_shows_no_difference(tmp_path):
    def attempt():
        with answering(5, 1) as port, load_on(port, 200):
            ab("--live", pid_of(port), *EVEN, "--time", 3, "--min-exchanges", 5, "--json",
               tmp_path / "r.json")
        value = measured(tmp_path / "r.json")
        assert value["analysis"], "the connections had ended before the experiment began"
        assert all(unit["stalls"] == 0 for unit in value["units"] + value["totals"])
        contrasts = [against["contrast"]["estimate"] for against in value["analysis"]["against"]]
        assert [abs(estimate) < 0.7 for estimate in contrasts] == [True]
    patiently(attempt)  # on a busy machine an arm may have few connections, or these take 100 ms longer


def test_the_client_is_the_target_and_its_peer_thinks(tmp_path):
    """44 ms of thinking are no stall, and no arm changes them."""
    with answering(44, 1) as port:
        with spawned(client(port, 30, "one", 64), stdout=subprocess.DEVNULL) as load:
            ab("--live", load.pid, "--time", 3, "--min-exchanges", 5, "--json", tmp_path / "r.json")
    units = measured(tmp_path / "r.json")["units"]
    assert units and all(44e6 <= unit["exchange_ns"] / unit["exchanges"] for unit in units)
    assert not any(unit["stalls"] for unit in units)


def test_off_against_off_names_no_winner():
    with answering(0, 2) as port, load_on(port, 60):
        done = ab("--live", pid_of(port), *EVEN, "--aa", "--time", 5, "--min-exchanges", 5, "--confidence",
                  99.9)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "off-2" in done.stdout


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"MPTCP"}))
def test_exchanges_are_as_many_and_as_long_as_the_program_measures(kind):
    """The lines of the carrier against those of the program; the connection was there before."""
    def attempt():
        with talking(kind) as talker:
            words = [COMMAND, "attach", str(talker.pid), "--arms", "off:1,off:1", "--seed", "1"]
            with spawned(words, stdout=subprocess.PIPE) as carrier:
                assert json.loads(carrier.stdout.readline())["existed"] == 1
                before = len(talker.told)
                assert wait_until(lambda: len(talker.told) >= before + 40)
                told = talker.told[before:]
                carrier.send_signal(signal.SIGINT)
                lines = carrier.communicate(timeout=60)[0].splitlines()
        sums = [row for row in json.loads(lines[-1])["rows"] if row["connections"]]
        assert [row["connections"] for row in sums] == [1]
        assert len(told) - 2 <= sums[0]["exchanges"] <= len(talker.told) - before + 2
        mean_ms = sum(took for took, _ in told) / len(told)
        # Most exchanges stall.  On a busy machine the program notices late that its answer is there.
        assert 20 < sums[0]["exchange_ns"] / sums[0]["exchanges"] / 1e6 < mean_ms * 1.25
        slow = sum(took > 33 for took, _ in told)  # on a busy machine not all of them for a stall
        assert slow / 2 <= sums[0]["stalls_proved"] <= slow + 2
    patiently(attempt)  # a busy machine may stop the carrier, or this test, for some exchanges


# ---- who gets which arm ----------------------------------------------------------


def test_an_assignment_is_repeated_by_its_seed(tmp_path):
    found = []
    for seed in (7, 7, 8):
        path = tmp_path / f"{len(found)}.json"
        with answering(0, 1) as port, experiment(pid_of(port), "--seed", seed, "--min-exchanges", 1, "--json",
                                                 path) as e, load_on(port, 24, 2):
            pass
        assert e.process.returncode in (0, 2), e.err
        found.append({unit["name"].rpartition("-")[2]: unit["arm"] for unit in measured(path)["units"]})
    assert len(found[0]) == 24 and found[0] == found[1] != found[2]


def test_by_peer_all_connections_of_an_address_are_one_unit(tmp_path):
    with answering(0, 1) as port, experiment(pid_of(port), "--assign", "peer", "--json",
                                             tmp_path / "r.json") as e, load_on(port, 8, 4):
        pass
    assert "Nothing to compare" in e.out, e.err
    unit, = measured(tmp_path / "r.json")["units"]
    assert (unit["name"], unit["connections"], unit["exchanges"]) == ("127.0.0.1", 8, 24)


@pytest.mark.parametrize("how", ["--cgroup", "--unit", "--container"])
def test_a_connection_that_is_there_gets_an_arm_and_its_value_back(how):
    digits = f"{os.getpid():064x}"
    name = {"--unit": f"unstall-{os.getpid()}.service"}.get(how, f"docker-{digits}.scope")
    with cgroup(name) as (folder, enter), talking(before=enter) as inside, talking() as outside:
        word = {"--cgroup": folder, "--unit": name, "--container": digits}[how]
        assert stalls(inside)
        with experiment(how, word, "--arms", ALMOST_ALL) as e:
            assert is_cured(inside)
            inside.say("new")
            assert is_cured(inside) and inside.reads_back() == {0}
            assert stalls(outside)
        assert e.process.returncode == 2, e.err
        assert "connections that were there before and take part: 1\n" in e.out
        assert stalls(inside) and inside.reads_back() == {0}


LATE = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
sys.stdin.readline()
"""

AGAIN = """
import ctypes, socket, sys
port, unspecified = int(sys.stdin.readline()), b"\\0" * 16
client = socket.socket()
for _ in range(2):
    client.connect(("127.0.0.1", port))
    client.send(b"r" * 300)
    client.recv(100)
    nodelay = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    ctypes.CDLL(None).connect(client.fileno(), unspecified, 16)
    print(nodelay, flush=True)
sys.stdin.readline()
"""


@contextlib.contextmanager
def program(text):
    with spawned([sys.executable, "-S", "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        yield child


HALF_CLOSED = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
for _ in sys.stdin:
    with socket.create_connection(listener.getsockname()) as near, listener.accept()[0] as far:
        near.send(b"q" * 100)
        near.shutdown(socket.SHUT_WR)
        while far.recv(100):
            pass
        far.send(b"r" * 200)
        far.send(b"r" * 200)
        print(len(near.recv(400, socket.MSG_WAITALL)), flush=True)
"""


def test_an_exchange_is_measured_after_the_sending_side_was_shut_down():
    """Its answer misses the tracepoint of all other segments: the exchange was not measured."""
    with program(HALF_CLOSED) as child, carrying(child.pid) as carrier:
        carrier.stdout.readline()
        for _ in range(5):
            child.stdin.write("again\n")
            child.stdin.flush()
            assert child.stdout.readline() == "400\n"
        carrier.send_signal(signal.SIGINT)
        rows = json.loads(carrier.communicate(timeout=60)[0].splitlines()[-1])["rows"]
    assert sum(row["connections"] for row in rows) == 10  # both ends are the process's
    assert sum(row["messages"] for row in rows) == 10  # the two answers of the far end are one
    assert sum(row["exchanges"] for row in rows) == 5


def test_a_connection_that_waits_for_accept_takes_part():
    """It has no descriptor, and was made before its listener was marked: it never took part."""
    with program(LATE) as child, \
            socket.create_connection(("127.0.0.1", int(child.stdout.readline()))), \
            carrying(child.pid) as carrier:
        assert json.loads(carrier.stdout.readline())["existed"] == 1
        carrier.send_signal(signal.SIGINT)
        carrier.communicate(timeout=60)


def test_a_socket_that_is_connected_again_is_another_connection():
    """It kept its number, and the second connection had no arm of its own."""
    with answering(0, 1) as port, program(AGAIN) as child, carrying(child.pid) as carrier:
        carrier.stdout.readline()
        child.stdin.write(f"{port}\n")
        child.stdin.flush()
        assert [child.stdout.readline() for _ in range(2)] == ["0\n", "0\n"]
        carrier.send_signal(signal.SIGINT)
        rows = json.loads(carrier.communicate(timeout=60)[0].splitlines()[-1])["rows"]
    assert sum(row["connections"] for row in rows) == sum(row["connections_ended"] for row in rows) == 2


def test_a_member_with_the_library_is_named():
    with cgroup(f"unstall-{os.getpid()}") as (folder, enter):
        with spawned(["/usr/bin/sleep", "60"], preload_env(), preexec_fn=enter) as member:
            assert wait_until(lambda: "libunstall" in Path(f"/proc/{member.pid}/maps").read_text())
            done = ab("--live", "--cgroup", folder, "--time", 1)
    assert f"process {member.pid} has libunstall.so, which acts in every arm" in done.stderr


def test_two_experiments_at_once():
    with talking() as one, talking() as other, experiment(one.pid, "--arms", ALMOST_ALL):
        with experiment(other.pid, "--arms", ALMOST_ALL):
            assert is_cured(one) and is_cured(other)
            done = ab("--live", one.pid, "--time", 1)
            assert done.returncode == 125 and done.stderr.count("\n") == 1
            assert "attached already" in done.stderr
        assert is_cured(one) and stalls(other)


def test_an_experiment_shares_no_connection():
    """A second one over it gave the same connections arms of its own, and a cure acted in every arm."""
    with cgroup(f"unstall-{os.getpid()}") as (folder, enter), talking(before=enter) as talker, \
            talking() as other:
        with experiment(talker.pid):
            words = ["--cgroup", folder]
            for done in (ab("--live", *words, "--time", 1), unstall("attach", *words),
                         unstall("attach", "--all")):
                assert done.returncode == 125 and done.stderr.count("\n") == 1
                assert (f"shares connections with process {talker.pid} (an experiment), and an experiment "
                        f"shares none; `unstall detach pid-{talker.pid}` ends that\n") in done.stderr
            assert unstall("attach", "--detach", other.pid).returncode == 0
            assert unstall("attach", "--detach", "--port", 1, *words).returncode == 125
        assert unstall("attach", "--detach", *words).returncode == 0
        done = ab("--live", talker.pid, "--time", 1)
        assert done.returncode == 125 and done.stderr.count("\n") == 1 and "(attached)" in done.stderr
        for target in ([other.pid], words):
            assert unstall("detach", *target).returncode == 0


def test_doctor_does_not_take_it_for_a_cure():
    """It said "unstall attach cures it already", of which half of the connections know nothing."""
    with talking() as talker, experiment(talker.pid):
        told = unstall("doctor", talker.pid).stdout
    assert ": an experiment of unstall ab cures some of its connections\n" in told
    assert "some of its connections are cured without" in " ".join(told.split())


def test_list_names_it():
    with talking() as talker, experiment(talker.pid):
        assert re.match(rf"pid-{talker.pid}\s.*mode of an experiment", unstall("attach", "--list").stdout)
