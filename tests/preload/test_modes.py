# SPDX-License-Identifier: MIT
"""The effect of each mode on the plain pattern, call by call, segment by segment, and in time."""

import pytest

from harness import (BEGIN, CURING_MODES, END, MODES, PASSING_MODES, PROCESSOR, STALL_MS, WARM, WIDE,
                     AnsweringPeer, added, is_promised, least, mode_env, patiently, pattern, program,
                     program_calls, program_shapes, run_client, run_judged, run_strace, run_with_peer, shape,
                     start_shapes)

EXCHANGES = 8
HABIT = 16  # turns of one write, as in policy.h

# Programs with an exchange of two small writes and a read -> the system call of each write.
TWO_WRITES = {
    "put_write": "write",
    "put_under_write": "write",
    "put_syscall_write": "write",
    "put_send": "sendto",
    "put_under_send": "sendto",
    "put_sendto": "sendto",
    "put_syscall_sendto": "sendto",
    "put_writev": "writev",
    "put_syscall_writev": "writev",
    "put_pwritev2": "pwritev2",
    "put_pwritev64v2": "pwritev2",
    "put_sendmsg": "sendmsg",
    "put_syscall_sendmsg": "sendmsg",
}

# Calls that carry many messages or another file's bytes are never held: a late push cures them.
BULK = {"put_sendmmsg": "sendmmsg"}

# Messages of other forms: each must be cured, by any means.
OTHER_MESSAGES = ("put_both_sendmmsg", "body_sendfile", "body_splice", "many_small_writes")

WITHOUT_PATTERN = ("plain_udp", "plain_unix", "plain_pipe", "plain_file", "plain_threads")

WRITES = {"write", "writev", "sendto", "sendmsg", "sendmmsg", "pwritev2", "sendfile", "splice"}


def traced(name, mode, exchanges=EXCHANGES, **variables):
    """The trace of so many exchanges; the peer has checked every byte."""
    with AnsweringPeer() as peer:
        arguments = [] if name.startswith("plain_") else [*peer.target, exchanges]
        trace = run_strace([program(name), *arguments], mode_env(mode, **variables))
        if arguments:
            check_bytes(peer, exchanges)
    assert trace.loaded is (mode != "bare")
    return trace


def check_bytes(peer, exchanges, message=300):
    (connection,) = peer.connections
    assert bytes(connection.received) == pattern(exchanges * message)


def on_socket(calls):
    """The calls on the client's connection, which is its first descriptor."""
    return [call for call in calls if call.fd == 3 and not call.has("TCP_INFO")]


def steps(calls):
    """Each call of an exchange in a word or two."""
    words = []
    for call in on_socket(calls):
        if call.is_push():
            words.append("push")
        elif call.name in WRITES:
            words.append(f"{'hold' if call.has('MSG_MORE') else 'write'} {written(call)}")
        else:
            words.append(call.name)
    return words


def written(call):
    """The bytes that a call wrote; sendmmsg returns messages, its bytes stand in msg_len."""
    if call.name != "sendmmsg":
        return call.ret
    return sum(int(part.split("}")[0].split(",")[0]) for part in call.args.split("msg_len=")[1:])


def makes_one_send_a_turn(trace, exchanges=range(WARM, EXCHANGES)):
    """Asserts that coalesce asks for the number's connection before it promises bytes, and then sends once.

    It asks again before the send if the coarse clock has ticked in between (1 to 10 ms).  Chance makes it
    tick in a turn, but not in every one.
    """
    one_send = ["getsockopt", "write 300", "read"]
    turns = [on_socket(trace.after(index)) for index in exchanges]
    for calls in turns:
        assert steps(calls) in (one_send, ["getsockopt", *one_send])
        assert all(call.has("SO_COOKIE") for call in calls[:-2]) and calls[-2].name in ("sendmsg", "sendto")
    assert one_send in map(steps, turns)


def additions(bare, other):
    """The calls that `other` makes beyond `bare` and the promised ones; all threads together."""
    assert len(other.pids) == len(bare.pids), "a thread or process more than bare"
    extra = []
    for bare_thread, other_thread in zip(program_shapes(bare), program_shapes(other)):
        lines = added(bare_thread, other_thread)
        assert lines is not None, f"calls are missing or changed: {bare_thread} {other_thread}"
        extra += lines
    return [line for line in extra if not is_promised(line)]


# ---- call by call ----------------------------------------------------------

@pytest.mark.parametrize("mode", PASSING_MODES)
@pytest.mark.parametrize("name", [*TWO_WRITES, *BULK, "far_messages"])
def test_off_and_observe_make_the_bare_calls(name, mode):
    bare, other = traced(name, "bare"), traced(name, mode)
    assert additions(bare, other) == []


def test_off_asks_nothing_before_clone3():
    """It made getpid and process_vm_readv to learn the flags."""
    assert additions(traced("far_clone", "bare"), traced("far_clone", "off")) == []


@pytest.mark.parametrize("name", [*TWO_WRITES, *BULK])
def test_nodelay_adds_one_setsockopt_before_the_second_write_and_nothing_else(name):
    bare, other = traced(name, "bare"), traced(name, "nodelay")
    assert additions(bare, other) == ["setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0"]
    kind = (TWO_WRITES | BULK)[name]
    # The size of a bulk call is known only after it, so its late push comes then.
    second = ["write 100", "push"] if name in BULK else ["push", "write 100"]
    assert steps(other.after(0)) == ["write 200", *second, "read"]
    assert all(call.name == kind for call in on_socket(other.after(0)) if call.name in WRITES)


@pytest.mark.parametrize("name", TWO_WRITES)
def test_cork_holds_every_small_write_and_pushes_once_a_turn(name):
    def attempt():
        trace = traced(name, "cork", **WIDE)
        for index in range(WARM, EXCHANGES):
            assert steps(trace.after(index)) == ["hold 200", "hold 100", "push", "read"]
    patiently(attempt)  # on a busy machine the window may end first


@pytest.mark.parametrize("name", TWO_WRITES)
def test_coalesce_makes_one_send_a_turn(name):
    patiently(lambda: makes_one_send_a_turn(traced(name, "coalesce", **WIDE)))  # as above


@pytest.mark.parametrize("name", TWO_WRITES)
def test_auto_pushes_late_once_and_then_adds_no_call(name):
    def attempt():
        trace = traced(name, "auto", **WIDE)
        assert steps(trace.after(0)) == ["write 200", "push", "write 100", "read"]
        for index in range(WARM, EXCHANGES):
            assert steps(trace.after(index)) == ["hold 200", "write 100", "read"]
    patiently(attempt)  # as above


@pytest.mark.parametrize("mode", ["cork", "coalesce", "auto"])
@pytest.mark.parametrize("name", BULK)
def test_bulk_calls_are_pushed_late_once_and_never_held(name, mode):
    bare, other = traced(name, "bare"), traced(name, mode, **WIDE)
    assert additions(bare, other) == ["setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0"]


@pytest.mark.parametrize("name", ["put_write", "one_write"])
def test_nodelay_always_is_set_when_the_connection_is_made(name):
    bare, other = traced(name, "bare"), traced(name, "nodelay", UNSTALL_NODELAY="always")
    assert additions(bare, other) == ["setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0"]
    assert [call for call in other.after(BEGIN) if call.is_push()]


@pytest.mark.parametrize("mode", ["off", "nodelay", "auto"])
def test_the_first_vector_of_a_message_is_not_asked_about(mode):
    """Wherever it lies: nothing is to be done about it, so the kernel follows it first."""
    bare, other = traced("one_write_far_vector", "bare"), traced("one_write_far_vector", mode)
    assert additions(bare, other) == []


def test_the_default_mode_is_auto():
    trace = traced("put_write", None, **WIDE)
    assert steps(trace.after(EXCHANGES - 1)) == ["hold 200", "write 100", "read"]


# ---- no pattern, no difference ---------------------------------------------

@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", WITHOUT_PATTERN)
def test_without_the_pattern_the_trace_is_the_bare_one(name, mode):
    bare, other = traced(name, "bare"), traced(name, mode)
    assert additions(bare, other) == []
    if name.startswith("plain_"):  # they print no facts: their end is comparable too
        assert list(map(shape, other.after(END))) == list(map(shape, bare.after(END)))


@pytest.mark.parametrize("mode", ["off", "observe", "nodelay", "auto"])
def test_one_write_a_turn_has_the_bare_trace(mode):
    assert additions(traced("one_write", "bare"), traced("one_write", mode)) == []


def test_one_write_a_turn_is_held_where_every_write_is():
    """cork and coalesce ask no question: they hold any small write, coalesce until it knows a habit."""
    def attempt():
        trace = traced("one_write", "cork", **WIDE)
        for index in range(WARM, EXCHANGES):
            assert steps(trace.after(index)) == ["hold 300", "push", "read"]
    patiently(attempt)  # as above
    patiently(lambda: makes_one_send_a_turn(traced("one_write", "coalesce", **WIDE)))


def test_coalesce_lets_a_single_write_go_by_habit_and_buffers_again_when_the_habit_ends():
    """In coalesce a program of one write a turn made a call more in each exchange (SO_COOKIE): 1.05."""
    def attempt():
        trace = traced("single_then_two", "coalesce", 2 * (HABIT + WARM), **WIDE)
        first_pair = HABIT + WARM
        for index in range(HABIT, first_pair):
            assert steps(trace.after(index)) == ["write 300", "read"]
        pair = [step for step in steps(trace.after(first_pair)) if step != "getsockopt"]
        assert pair == ["write 200", "push", "write 100", "read"]
        makes_one_send_a_turn(trace, range(first_pair + 1, 2 * first_pair))
    patiently(attempt)  # as above


def test_what_coalesce_does_not_buffer_is_not_asked_about():
    """SO_COOKIE was asked before each write, also where the program's own TCP_NODELAY wins."""
    assert additions(traced("app_nodelay", "bare"), traced("app_nodelay", "coalesce")) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", WITHOUT_PATTERN)
def test_each_unseen_descriptor_is_asked_at_most_once_in_its_life(name, mode):
    queries = {}
    for call in program_calls(traced(name, mode)):
        if call.name == "close":
            queries.pop(call.fd, None)
        if call.name == "getsockopt":
            queries[call.fd] = queries.get(call.fd, 0) + 1
            assert queries[call.fd] == 1, str(call)


@pytest.mark.parametrize("mode", MODES)
def test_loading_makes_at_most_three_queries(mode):
    bare, other = traced("one_write", "bare"), traced("one_write", mode)
    extra = added(start_shapes(bare), start_shapes(other))
    assert extra is not None
    standard = ("getsockopt(0,", "getsockopt(1,", "getsockopt(2,")
    # where the heap begins: libc asks it at the program's first malloc, if not before; the value of $LIB
    of_libc = ("brk(NULL)", 'readlink("/proc/self/exe"')
    extra = [line for line in extra if not line.startswith(of_libc)]
    assert [line for line in extra if not line.startswith(standard)] == [] and len(extra) <= 3


# ---- segments and time -----------------------------------------------------

@pytest.mark.parametrize("mode, segments", [
    ("bare", 2), ("off", 2), ("observe", 2), ("nodelay", 2), ("cork", 1), ("coalesce", 1), ("auto", 1),
])
def test_segments_of_a_turn(mode, segments):
    with AnsweringPeer() as peer:
        done = run_client(program("put_write"), mode, *peer.target, **WIDE)
        check_bytes(peer, 12)
    assert segments <= done.segments <= segments + (0.25 if segments == 1 else 0)


@pytest.mark.parametrize("name", ["body_sendfile", "many_small_writes"])
@pytest.mark.parametrize("mode", ["cork", "coalesce", "auto"])
def test_segments_of_other_messages(name, mode):
    with AnsweringPeer() as peer:
        done = run_client(program(name), mode, *peer.target, 12, **WIDE)
        check_bytes(peer, 12)
    assert done.segments <= 1.25


@pytest.mark.parametrize("mode", ["bare", *PASSING_MODES])
@pytest.mark.parametrize("name", ["put_write", "put_sendmsg", *OTHER_MESSAGES])
def test_the_stall_is_there(name, mode):
    assert run_judged(program(name), mode, 12).stalls


@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("name", [*TWO_WRITES, *BULK, *OTHER_MESSAGES])
def test_the_stall_is_gone(name, mode):
    assert not run_judged(program(name), mode, 12).stalls


if PROCESSOR == "x86":
    @pytest.mark.parametrize("mode", ["bare", *MODES])
    def test_socketcall_is_seen_as_the_calls_that_it_stands_for(mode):
        """Unseen, a send would leave the stall, and a recv would wait for what is held."""
        done = run_judged(program("put_syscall_socketcall"), mode, 12, **WIDE)
        assert done.stalls is (mode not in CURING_MODES)


@pytest.mark.parametrize("mode", ["nodelay", "auto"])
def test_not_even_the_first_stall_happens(mode):
    """The late push comes at the second small write, so no exchange after the first waits 40 ms."""
    def second_longest_ms():
        done = run_with_peer("put_write", mode)
        return sorted(done.facts["us"])[-2] / 1000

    assert least(second_longest_ms, STALL_MS) < STALL_MS
