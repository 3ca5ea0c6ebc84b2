# SPDX-License-Identifier: MIT
"""unstall attach cures what runs already and what no preload reaches; detach puts all back."""

import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

import pytest
from attachments import ACTOR, Attached, attached
from unreached import KINDS, PINS, Talker, is_cured, stalls, talking, wait_until

from harness import COMMAND, NOBODY, STALL_MS, bare_env, cgroup, patiently, preload_env, run, spawned, unstall


def detach(*words):
    done = unstall("detach", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(": detached; connections have their own values back\n")  # it said nothing


# ---- the cure -----------------------------------------------------------------


@pytest.mark.parametrize("mode", ["always", "proof"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_running_process_is_cured_and_put_back(kind, mode):
    """Its connection, the next one that it makes, and the value that it reads back."""
    with talking(kind) as talker:
        assert stalls(talker)
        with attached(talker.pid, "--mode", mode) as a:
            assert is_cured(talker)
            talker.say("new")
            assert is_cured(talker)
            assert talker.reads_back() <= {0, -1}
            assert a.end() == 0
        assert re.search(r"put back; 2 connections had been cured\n$", a.said)
        assert stalls(talker)
        assert talker.reads_back() <= {0, -1}


@pytest.mark.parametrize("mode", ["always", "proof"])
def test_what_the_program_sets_is_what_it_reads_back_and_gets_back(mode):
    with talking() as talker, attached(talker.pid, "--mode", mode):
        assert is_cured(talker)
        talker.say("0")
        assert is_cured(talker) and talker.reads_back() == {0}
        talker.say("1")
        assert is_cured(talker) and wait_until(lambda: talker.reads_back() == {1})
        detach(talker.pid)
        assert is_cured(talker) and talker.reads_back() == {1}


def test_only_the_process_named_is_cured():
    with talking() as one, talking() as other, attached(one.pid, "--mode", "always"):
        assert is_cured(one)
        assert stalls(other)
        other.say("new")
        assert stalls(other)


@pytest.mark.parametrize("mode", ["always", "proof"])
def test_a_listener_of_the_process_hands_it_on(mode):
    talker = Talker("plain", "listen")
    try:
        assert wait_until(lambda: talker.port)
        with attached(talker.pid, "--mode", mode), socket.create_connection(("127.0.0.1", talker.port)) as s:
            end = time.monotonic() + 20
            while time.monotonic() < end and len(talker.told) < 100:
                got = 0
                while got < 200:
                    got += len(s.recv(200 - got))
                s.sendall(b"r" * 200)
            assert wait_until(lambda: len(talker.told) >= 100)
            assert statistics.median(took for took, _ in talker.told) < STALL_MS
    finally:
        talker.end()


@pytest.mark.parametrize("how", ["--cgroup", "--unit", "--container"])
def test_a_cgroup_is_cured_by_path_unit_or_container(how):
    digits = f"{os.getpid():x}".rjust(12, "c") + "0" * 52
    name = {"--unit": f"unstall-{os.getpid()}.service"}.get(how, f"docker-{digits}.scope")
    with cgroup(name) as (folder, enter), talking(before=enter) as inside, talking() as outside:
        word = {"--cgroup": folder, "--unit": name.removesuffix(".service"), "--container": digits[:12]}[how]
        assert stalls(inside)
        with attached(how, word):
            assert is_cured(inside)
            inside.say("new")
            assert is_cured(inside)
            assert stalls(outside)
        assert stalls(inside)


def test_a_port_is_cured():
    with talking() as one, talking() as other:
        with attached("--port", one.peer_port, "--mode", "always"):
            assert is_cured(one)
            assert stalls(other)
            # doctor did not know of it
            told = [" ".join(unstall("doctor", talker.pid).stdout.split()) for talker in (one, other)]
            cured = f"its connections with port {one.peer_port} at one end are cured; undo it: unstall detach"
            assert cured in told[0] and cured not in told[1]
            # it said of the cured connection that Nagle's algorithm is in force
            assert "established ?" in told[0] and "established in force" in told[1]
        assert stalls(one)


def test_a_connection_in_another_network_namespace_is_cured():
    shell = f"ip link set lo up && exec /usr/bin/python3 -S {ACTOR} stall 2"

    def attempt():
        with spawned(["unshare", "-n", "sh", "-c", shell], stdout=subprocess.PIPE) as actor:
            assert actor.stdout.readline().startswith("port")
            with attached(actor.pid, "--mode", "always"):
                assert int(actor.stdout.readline().split()[1]) > 500  # 45, with stalls
    patiently(attempt)


def test_a_process_is_cured_by_its_id_in_a_container():
    """The BPF programs have the ids of the host; the walk over its descriptors finds it by ours."""
    script = (f"/usr/bin/python3 -S {ACTOR} stall 3 & {COMMAND} attach $! --mode always 2>/dev/null; wait")

    def attempt():
        done = run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script], bare_env(),
                   check=False)
        assert int(done.stdout.split()[-1]) > 500  # 45, with stalls
    patiently(attempt)


# ---- staying, and being found again ----------------------------------------------


def test_detached_it_stays_and_is_listed_until_detach():
    """Only root gets at what is pinned."""
    with talking() as talker:
        done = unstall("attach", "--detach", talker.pid)
        assert (PINS.stat().st_mode & 0o777, PINS.stat().st_uid) == (0o700, 0)
        assert done.returncode == 0 and f"`unstall detach pid-{talker.pid}` puts all back" in done.stderr
        assert is_cured(talker)
        told = unstall("attach", "--list").stdout
        pattern = r"pid-{0}\s+process {0}, mode \w+, since \S+, 1 cured; detached\n"
        assert re.fullmatch(pattern.format(talker.pid), told)
        assert all(place.stat().st_mode & 0o777 == 0o700 for place in (PINS, PINS / f"pid-{talker.pid}"))
        # status knew drop-ins only, so that there was no place where all that is cured is told
        told = unstall("status").stdout
        assert re.search(rf"^process {talker.pid}.*\n +attached +since 2.*; 1 connection cured\n"
                         r" +mode +proof\n +stalls +not counted: no statistics\n"
                         rf" +undo +unstall detach pid-{talker.pid}\n", told, re.MULTILINE)
        listed, = json.loads(unstall("status", "--json").stdout)["attached"]
        assert (listed["name"], listed["cured"]) == (f"pid-{talker.pid}", 1)
        # doctor proposed to attach it, and to start it again
        told = unstall("doctor", talker.pid)
        assert told.returncode == 0 and "unstall attach cures it already" in told.stdout
        assert f"undo it: unstall detach pid-{talker.pid}\n" in told.stdout
        assert "unstall run" not in told.stdout and f"unstall attach {talker.pid}" not in told.stdout
        assert "in force" not in told.stdout
        detach(talker.pid)
        assert stalls(talker)
        assert unstall("attach", "--list").stdout == ""
        assert "cures it already" not in unstall("doctor", talker.pid).stdout


def test_after_a_sigkill_detach_puts_all_back():
    with talking() as talker:
        with attached(talker.pid) as a:
            assert is_cured(talker)
            a.end(signal.SIGKILL)
        assert is_cured(talker)
        assert "its command was killed" in unstall("attach", "--list").stdout
        detach("--all")
        assert stalls(talker) and talker.reads_back() == {0}


def test_killed_at_any_moment_detach_puts_all_back():
    """SIGKILL while it loads, pins and walks."""
    with talking() as talker:
        for ms in range(0, 60, 4):
            command = subprocess.Popen([COMMAND, "attach", str(talker.pid), "--mode", "always"],
                                       env=bare_env(), stderr=subprocess.DEVNULL)
            time.sleep(ms / 1000)
            command.kill()
            command.wait()
            if PINS.exists():
                detach("--all")
            assert not PINS.exists()
        assert stalls(talker) and talker.reads_back() == {0}


def test_sigterm_puts_all_back():
    with talking() as talker, attached(talker.pid) as a:
        assert is_cured(talker)
        assert a.end(signal.SIGTERM) == 0
        assert stalls(talker)


def test_detach_ends_the_command_in_the_foreground():
    with talking() as talker, attached(talker.pid) as a:
        assert is_cured(talker)
        detach(talker.pid)
        assert stalls(talker)
        assert a.wait() == 0 and "detached by another command" in a.said


# ---- the end of its target, others on the same connections, large numbers ---------------


def test_two_attachments_that_share_connections_leave_nothing():
    with cgroup(f"unstall-{os.getpid()}") as (folder, enter), talking(before=enter) as talker:
        with attached("--cgroup", folder, "--mode", "always") as first:
            with attached(talker.pid, "--mode", "always"):
                assert is_cured(talker)
                talker.say("new")
                assert is_cured(talker) and talker.reads_back() == {0}
                assert first.end() == 0
        assert stalls(talker) and talker.reads_back() == {0}


def test_it_ends_with_the_process():
    with talking() as talker, attached(talker.pid) as a:
        talker.process.kill()
        assert a.wait() == 0 and f"process {talker.pid} has ended" in a.said


@pytest.mark.parametrize("by", ["process", "cgroup"])
def test_a_long_path_of_a_cgroup(by):
    name = f"unstall-{os.getpid()}-".ljust(250, "x")
    with cgroup(name) as (folder, enter), talking(before=enter) as talker:
        target = {"process": [talker.pid], "cgroup": ["--cgroup", folder]}[by]
        with attached(*target, "--mode", "always"):
            assert is_cured(talker)
        assert stalls(talker)


def test_it_ends_with_the_cgroup():
    with cgroup(f"unstall-{os.getpid()}") as (folder, _):
        a = Attached("--cgroup", folder)
    assert a.wait() == 0 and "the cgroup was removed" in a.said


def test_a_removed_cgroup_is_detached_by_its_name():
    with cgroup(f"unstall-{os.getpid()}") as (folder, _):
        assert unstall("attach", "--detach", "--cgroup", folder).returncode == 0
    told = unstall("attach", "--list").stdout
    assert "the cgroup was removed" in told
    detach(told.split()[0])


@pytest.mark.parametrize("mode", ["always", "proof"])
@pytest.mark.parametrize("library", ["nodelay", "cork", "coalesce", "auto"])
def test_over_a_program_with_the_preload(library, mode):
    """What the library sets is the application's own: it stays cured with both and after each."""
    env = preload_env(library)
    with talking(env=env) as talker:
        assert is_cured(talker)
        with attached(talker.pid, "--mode", mode):
            assert is_cured(talker)
            talker.say("new")
            assert is_cured(talker)
            assert talker.reads_back() == {0}
        assert is_cured(talker)
        assert talker.reads_back() == {0}


@pytest.mark.parametrize("target, why", [
    (["--cgroup", "/"], "cgroup /, port 1: this is the root cgroup, so the whole host, as by --all\n"),
    (["1"], "process 1: its own connections only, not those of the processes that it has started; "),
])
def test_a_target_that_is_smaller_or_larger_than_its_name_is_remarked_on(target, why):
    with attached(*target, "--port", 1) as a:
        assert a.said.startswith(f"unstall attach: {why}")
        assert a.end() == 0
    with attached("--port", 1) as a:
        assert why not in a.said


def test_a_limit_on_locked_memory_is_none():
    """Since Linux 5.11 BPF objects count for the memory of the cgroup."""
    with talking() as talker, attached(talker.pid, command=("prlimit", "--memlock=0", COMMAND)):
        assert is_cured(talker)


def test_connections_of_a_cgroup_that_is_removed_meanwhile_are_put_back():
    """They belong to processes that were moved elsewhere."""
    with cgroup(f"unstall-{os.getpid()}") as (folder, enter), talking(before=enter) as talker:
        a = Attached("--cgroup", folder, "--mode", "always")
        assert is_cured(talker)
        (folder.parent / "cgroup.procs").write_text(str(talker.pid), encoding="ascii")
        folder.rmdir()
        assert a.wait() == 0 and "the cgroup was removed" in a.said
        assert stalls(talker) and talker.reads_back() == {0}


MANY = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (10100, 10100))
listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
kept = []
for _ in range(5000):
    kept.append(socket.create_connection(listener.getsockname()))
    kept.append(listener.accept()[0])
print("made", flush=True)
for _ in sys.stdin:
    print(sum(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for s in kept), flush=True)
"""


def test_ten_thousand_sockets():
    with spawned([sys.executable, "-S", "-c", MANY], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                 bufsize=1) as many:
        assert many.stdout.readline() == "made\n"
        with attached(many.pid, "--mode", "always") as a:
            many.stdin.write("\n")
            assert many.stdout.readline() == "0\n"
            assert a.end() == 0
        assert "put back; 10 000 connections had been cured" in a.said
        many.stdin.write("\n")
        assert many.stdout.readline() == "0\n"


# ---- without privilege ----------------------------------------------------------------


def test_without_privilege_the_connections_of_an_own_process_are_cured():
    with talking(user=NOBODY) as talker:
        assert stalls(talker)
        with attached(talker.pid, user=NOBODY) as a:
            assert "by pidfd_getfd" in a.said and "CAP_BPF" in a.said
            assert is_cured(talker)
            talker.say("new")
            assert wait_until(lambda: is_cured(talker))
            assert a.end() == 0
        assert "2 connections had been cured" in a.said
        assert stalls(talker)


def test_under_nohup_it_stays_when_the_terminal_goes():
    with talking(user=NOBODY) as talker:
        with attached(talker.pid, user=NOBODY,
                      preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as a:
            a.process.send_signal(signal.SIGHUP)
            for _ in range(2):  # it looks each second, and would see the signal then
                talker.say("new")
                assert wait_until(lambda: is_cured(talker))
            assert a.end() == 0
        assert "3 connections had been cured" in a.said
        assert stalls(talker)


def test_without_privilege_it_ends_with_the_process():
    with talking(user=NOBODY) as talker, attached(talker.pid, user=NOBODY) as a:
        talker.end()
        assert a.wait() == 0 and "has ended" in a.said
