# SPDX-License-Identifier: MIT
"""The application reads back the value that it set; which setting wins; and the options that the next owner
of a socket finds."""

import socket
import threading

import pytest

from harness import (BEGIN, CURING_MODES, END, MODES, WIDE, AnsweringPeer, SilentPeer, added, is_promised,
                     judged, least, mode_env, pattern, program, program_shapes, run, run_client, run_judged,
                     run_strace, run_with_peer)

EXCHANGES = 12


def facts_lines(text):
    """The lines that a program printed before its facts."""
    return [line for line in text.splitlines() if not line.startswith("{")]


# ---- read back -------------------------------------------------------------

@pytest.fixture(scope="module")
def bare_read_back():
    with AnsweringPeer() as peer:
        lines = facts_lines(run_client(program("options_read_back"), "bare", *peer.target).stdout)
    assert "after a burst NODELAY: 0 ok length 4 value 00 00 00 00 ee ee ee ee" in lines
    assert "nodelay 1, burst NODELAY: 0 ok length 1 value 01 ee ee ee ee ee ee ee" in lines
    return lines


@pytest.mark.parametrize("mode", MODES)
def test_reads_back_what_it_set(mode, bare_read_back):
    done = run_with_peer("options_read_back", mode)
    assert facts_lines(done.stdout) == bare_read_back


@pytest.mark.parametrize("mode", MODES)
def test_override_reads_back_the_same(mode, bare_read_back):
    done = run_with_peer("options_read_back", mode, UNSTALL_OVERRIDE=1)
    assert facts_lines(done.stdout) == bare_read_back


@pytest.mark.parametrize("mode", MODES)
def test_accepted_reads_back_what_the_listener_had(mode):
    bare = facts_lines(run_client(program("options_of_listener"), "bare").stdout)
    assert "nodelay before the handshake: nodelay 1 cork 0" in bare
    assert facts_lines(run_client(program("options_of_listener"), mode).stdout) == bare


@pytest.mark.parametrize("nodelay", [0, 1])
@pytest.mark.parametrize("mode", MODES)
def test_accepted_reads_back_what_an_inherited_listener_has(mode, nodelay):
    """systemd's NoDelay=true read back 0, and was really cleared before an exec."""
    def lines(mode):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
            done = run_client(program("options_of_listener"), mode, listener.fileno(),
                              pass_fds=[listener.fileno()])
        return [line for line in facts_lines(done.stdout) if nodelay or "kernel" not in line]

    bare = lines("bare")
    assert bare.count("in the kernel: 1") == nodelay and f"after exec: nodelay {nodelay} cork 0" in bare
    assert lines(mode) == bare


# ---- the application's own choice wins -------------------------------------

def traced(name, mode, **variables):
    with AnsweringPeer() as peer:
        trace = run_strace([program(name), *peer.target, 8], mode_env(mode, **variables))
        assert bytes(peer.connections[0].received) == pattern(8 * 300)
    return trace


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["app_nodelay", "app_cork", "app_more"])
def test_own_choice_is_left_alone(name, mode):
    (bare,), (other,) = program_shapes(traced(name, "bare")), program_shapes(traced(name, mode))
    extra = added(bare, other)
    assert extra is not None, f"calls are missing or changed: {other}"
    assert [line for line in extra if not is_promised(line)] == []


@pytest.mark.parametrize("mode, segments", [("nodelay", 2), ("cork", 1), ("coalesce", 1), ("auto", 1)])
def test_override_treats_nodelay_as_unset(mode, segments):
    # auto without a window needs longer to learn
    done = run_judged(program("app_nodelay"), mode, EXCHANGES, UNSTALL_OVERRIDE=1, **WIDE)
    assert segments <= done.segments <= segments + (0.25 if segments == 1 else 0)
    assert not done.stalls


# ---- no stall comes back ---------------------------------------------------

STALLING_CHOICES = ("app_nodelay_zero", "app_nodelay_zero_between", "app_nodelay_toggled",
                    "app_cork_second", "app_more_second")


@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
@pytest.mark.parametrize("name", STALLING_CHOICES)
def test_choice_does_not_bring_the_stall_back(name, mode):
    assert run_judged(program(name), mode, EXCHANGES).stalls is (mode == "bare")


# ---- the next owner of the socket ------------------------------------------

EXECS = ("execve", "execv", "execvp", "execvpe", "execl", "execle", "execlp", "fexecve", "execveat")
SPAWNS = ("posix_spawn", "posix_spawnp", "fork", "vfork", "system", "popen")


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("how", EXECS)
@pytest.mark.parametrize("mode", CURING_MODES)
def test_program_after_exec_finds_the_applications_values(mode, how, own):
    with AnsweringPeer() as peer:
        done = run([program("pass_on_exec"), *peer.target, 0, 0, own, how], mode_env(mode))
    assert done.stdout == f"second: nodelay {own} cork 0\n"
    assert bytes(peer.connections[0].received) == pattern(6 * 300)


@pytest.mark.parametrize("mode", CURING_MODES)
def test_failed_exec_brings_no_stall(mode):
    assert not run_judged(program("pass_on_failed_exec"), mode, EXCHANGES).stalls


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("how", SPAWNS)
@pytest.mark.parametrize("mode", CURING_MODES)
def test_child_program_finds_the_applications_values_and_the_parent_stays_cured(mode, how, own):
    done = run_judged(program("pass_on_spawn"), mode, EXCHANGES, 0, own, how,
                      received=pattern((5 + EXCHANGES) * 300))
    assert facts_lines(done.stdout) == [f"second: nodelay {own} cork 0"]
    assert not done.stalls


@pytest.mark.parametrize("how", ["posix_spawn", "fork"])
@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_the_end_of_a_program_on_the_connection_does_not_undo_the_applications_nodelay(mode, how):
    """It had the connection as its standard input, and put TCP_NODELAY back to the value at its start, 0."""
    done = run_judged(program("spawned_on_stdio"), mode, EXCHANGES, 0, how, cured=True,
                      received=pattern((5 + EXCHANGES) * 300))
    assert not done.stalls
    assert done.facts["said"] == 1 and done.facts["there"] == 1


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("how", ["sendmsg", "sendmmsg"])
@pytest.mark.parametrize("mode", CURING_MODES)
def test_receiver_of_a_socket_finds_the_applications_values(mode, how, own):
    def measure():
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        found = []

        def receive():
            _, (descriptor,), _, _ = socket.recv_fds(ours, 1, 1)
            with socket.socket(fileno=descriptor) as received:
                for option in (socket.TCP_NODELAY, socket.TCP_CORK):
                    found.append(received.getsockopt(socket.IPPROTO_TCP, option))
            ours.sendall(b"x")

        with AnsweringPeer() as peer, ours, theirs:
            receiver = threading.Thread(target=receive, daemon=True)
            receiver.start()
            done = run_client(program("pass_on_rights"), mode, *peer.target, EXCHANGES, 0, own, how,
                              stdin=theirs)
            receiver.join(5)
        assert [bool(value) for value in found] == [bool(own), False]
        assert bytes(peer.connections[0].received) == pattern((5 + EXCHANGES) * 300)
        return done

    assert not judged(measure, True).stalls


# ---- one-way streams -------------------------------------------------------

def test_one_way_stream_is_left_to_nagle():
    """auto: after eight small writes without any input TCP_NODELAY is the application's again, for good."""
    with SilentPeer() as peer:
        trace = run_strace([program("one_way"), *peer.target, 40], mode_env("auto"))
    calls = trace.main
    settings = [call for call in calls if call.name == "setsockopt" and call.has("TCP_NODELAY")]
    assert settings and settings[-1].has("TCP_NODELAY, [0]")
    eighth = next(at for at, call in enumerate(calls) if call.mark == 8)
    assert not [call for call in calls[eighth:] if call.name == "setsockopt"]
    assert not [call for call in trace.between(BEGIN, END) if call.has("MSG_MORE")]


def test_one_way_stream_has_the_segments_of_nagle():
    def segments(mode):
        with SilentPeer() as peer:
            done = run_client(program("one_way"), mode, *peer.target, 200)
        assert bytes(peer.connections[0].received) == pattern(200 * 20)
        assert not done.facts["nodelay"]
        return done.facts["segments"]

    # Nagle joins most of 200 writes.  How many is chance: on a busy machine up to 198 leave alone, in auto as
    # bare.  With TCP_NODELAY there are 200 segments each time.
    for mode in ("bare", "auto"):
        assert least(lambda mode=mode: segments(mode), 190, tries=10) < 190
