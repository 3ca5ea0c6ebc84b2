# SPDX-License-Identifier: MIT
"""A regression test for each defect that was found in the finished core.

Some tests are elsewhere: two small messages of one sendmmsg (test_modes: put_both_sendmmsg), a
header in front of a sendfile over MPTCP in coalesce (test_detection: mptcp and body_sendfile), the
threads of the parent of a forked child (test_waits: pthread_create, thrd_create), a program with a
seccomp filter and the report, the library let go by dlclose, cancellation points, vectors and buffers that
are not there (tests/company), the first hold within a handler, a handler that jumps from anywhere, a
cancelled write, writes after a reset, and the ends of what was accepted with a full socket (tests/torture).
"""

import errno
import os
import resource
import socket
import subprocess

import pytest

from harness import (BEGIN, CURING_MODES, END, LIB, MODES, PROGRAMS, WIDE, AnsweringPeer, ScriptedPeer,
                     SilentPeer, bare_env, compile_c, judged, least, mode_env, pattern, preload_env, program,
                     read_reports, report_pattern, request_all, run, run_client, run_judged, run_strace,
                     run_with_peer, skip, started_server, wait_until)

ALL = ("bare", *MODES)
WARM_UP = 8  # exchanges after which auto holds
EXCHANGE = 300
# A stall is 40 ms, the kernel's patience with MSG_MORE 200 ms.
AT_ONCE_MS = 30


def last_ms(run_once):
    """How long the last exchange of a program took, at the least: `run_once` gives a run."""
    return least(lambda: run_once().facts["last_us"] / 1000, AT_ONCE_MS)


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how", ["write", "send", "writev", "sendmsg"])
def test_a_write_of_nothing_keeps_a_hold(how, mode):
    """It was taken for the end of the message: the held bytes were forgotten and left 200 ms later."""
    def run_once():
        with ScriptedPeer(*[EXCHANGE] * WARM_UP, 200) as peer:
            done = run_client(program("was_empty_write"), mode, *peer.target, WARM_UP, 0, how)
        assert bytes(peer.connections[0].received) == pattern(WARM_UP * EXCHANGE + 200)
        return done

    assert last_ms(run_once) < AT_ONCE_MS


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("received, old_number", [
    ("early", "open"), ("late", "open"), ("early", "closed"), ("late", "closed"), ("child", "child")])
def test_a_connection_that_was_passed_on_reads_back_as_the_application_left_it(received, old_number, mode):
    """Its new number read back TCP_NODELAY=1, set by us for writes to its old one."""
    done = run_with_peer("was_passed_back", mode, 0, 0, received, old_number, timeout=20)
    assert done.facts["nodelay"] == 0


@pytest.mark.parametrize("mode", ALL)
def test_a_first_write_that_fails_can_be_followed_by_a_poll(mode, tmp_path):
    """The turn model was asked about write number -1 (SIGSEGV), and each failed write was counted as made."""
    with ScriptedPeer(*[EXCHANGE] * WARM_UP, told=True) as peer:
        done = run_client(program("was_full"), mode, *peer.target, WARM_UP, timeout=20,
                          UNSTALL_REPORT=report_pattern(tmp_path))
    assert bytes(peer.connections[0].received) == pattern(done.facts["bytes"])
    for report in read_reports(tmp_path):
        assert {name: report[name] for name in ("writes", "bytes", "bursts")} == {
            "writes": done.facts["writes"], "bytes": done.facts["seen"], "bursts": WARM_UP}
    assert len(read_reports(tmp_path)) == (mode != "bare")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["read", "recvmmsg", "syscall"])
def test_the_end_of_the_stream_is_no_input(how, mode, tmp_path):
    """recvmmsg fills all its messages with nothing there, and their number was taken for bytes."""
    run_with_peer("was_end_of_stream", mode, 1, 0, how, UNSTALL_REPORT=report_pattern(tmp_path))
    assert [report["reads"] for report in read_reports(tmp_path)] == [1]


@pytest.mark.parametrize("mode", MODES)
def test_a_write_that_fails_costs_no_setsockopt(mode):
    """Bytes that the kernel had refused were pushed."""
    with ScriptedPeer(*[EXCHANGE] * WARM_UP, told=True) as peer:
        trace = run_strace([program("was_full"), *peer.target, WARM_UP], mode_env(mode), timeout=20)
    failed = trace.between(BEGIN, END)
    assert [call for call in failed if call.errno == "EAGAIN"]
    assert [str(call) for call in failed if call.name == "setsockopt"] == []


@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("how", ["fork", "_Fork"])
def test_a_forked_child_of_a_program_that_makes_threads_does_not_hang(how, mode):
    """It started a window's thread: pthread_create waited for a lock that a thread of the parent had held."""
    with SilentPeer() as peer:
        done = run_client(program("was_forked_amid_threads"), mode, *peer.target, 100, 0, how, timeout=60)
    assert done.facts["status"] == 0
    assert bytes(peer.connections[0].received) == pattern(100 * EXCHANGE)


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how, length", [("send", 13439), ("sendmmsg", 151), ("splice", 151)])
def test_the_applications_own_hold_does_not_keep_what_stood_before_it(how, length, mode):
    """Buffered bytes left with MSG_MORE because the write after them had it, and held bytes were forgotten
    when a batch had it: 200 ms late."""
    def run_once():
        with ScriptedPeer(*[EXCHANGE] * WARM_UP, 8) as peer:
            done = run_client(program("was_more_after_small"), mode, *peer.target, WARM_UP, 0, how, length)
        assert bytes(peer.connections[0].received) == pattern(WARM_UP * EXCHANGE + 8 + length + 1)
        return done

    assert last_ms(run_once) < AT_ONCE_MS


@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
def test_buffered_bytes_and_the_applications_hold_are_two_units(mode):
    """The buffered ones left by themselves and were not counted: the hold's end was the first small unit."""
    assert run_judged(program("was_more_within"), mode, 12).stalls is (mode == "bare")


@pytest.mark.parametrize("mode", CURING_MODES)
def test_setuid_is_answered_by_our_thread_too(mode):
    """It blocked the signal by which libc asks every thread: setuid waited for ever."""
    assert not run_judged(program("was_setuid"), mode, 40, timeout=20).stalls


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["close", "fclose", "none"])
def test_nothing_of_ours_goes_to_a_descriptor_2_that_is_not_stderr(how, mode):
    """Closed and reused by a connection, it was sent our report."""
    run_with_peer("was_stderr_reborn", mode, 12, 0, how, UNSTALL_REPORT="stderr", UNSTALL_VERBOSE=1,
                  UNSTALL_WINDOW_US="not a number",
                  preexec_fn=(lambda: os.close(2)) if how == "none" else None,
                  received=pattern(12 * EXCHANGE))


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how", ["exit", "quick_exit", "flush"])
def test_nothing_is_held_while_the_process_ends(how, mode):
    """Bytes written after the ending had begun were buffered and never sent."""
    with AnsweringPeer() as peer:
        run([program("was_ending"), *peer.target, WARM_UP, 0, how], mode_env(mode, UNSTALL_WINDOW_US=100000),
            timeout=20)
    assert bytes(peer.connections[0].received) == pattern((WARM_UP + 1) * EXCHANGE)


def late_option(mode, option):
    """Whether the answers of such a server stall."""
    def measure():
        with started_server([program("server_before_option"), option], mode) as (_, port):
            seen = request_all(port, 12)
        assert bytes(seen.received) == pattern(12 * EXCHANGE)
        return seen

    return judged(measure, mode in CURING_MODES).stalls


@pytest.mark.parametrize("option", ["nodelay", "cork"])
@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
def test_a_connection_accepted_before_its_listeners_option_is_cured(mode, option):
    """It was thought to have the TCP_NODELAY or TCP_CORK that its listener was given after the handshake."""
    assert late_option(mode, option) is (mode == "bare")


@pytest.mark.parametrize("name", ["between_file_read", "between_file_write"])
def test_a_file_between_header_and_body_leaves_the_turn_whole(name):
    """In auto the read or write of a file, which cannot block, ended each turn: two segments a message."""
    done = run_judged(program(name), "auto", 12, **WIDE)
    assert done.segments <= 1.25 and not done.stalls


@pytest.mark.parametrize("mode", CURING_MODES)
def test_the_first_hold_on_an_inherited_connection_has_a_window(mode):
    """Its options were asked after it had been decided that no thread for the window was needed."""
    def run_once():
        with ScriptedPeer(EXCHANGE) as peer, socket.create_connection((peer.address, peer.port)) as sock:
            return run_client(program("was_inherited_unseen"), mode, 7, UNSTALL_THREAD="always",
                              close_fds=False, preexec_fn=lambda: os.dup2(sock.fileno(), 7))

    assert last_ms(run_once) < AT_ONCE_MS


def stuck_peer(how, mode):
    return run_client(program("stuck_peer"), mode, how, timeout=60).facts


@pytest.mark.parametrize("mode", ["bare", "auto", "coalesce"])
def test_peers_that_never_read_delay_programs_and_forks_once_and_together(mode):
    """In coalesce each popen, fork and exec waited a second for each of them, every time."""
    facts = stuck_peer("programs", mode)
    assert facts["ms_0"] < 3000 and facts["ms_1"] < 500 and facts["ms_2"] < 500


@pytest.mark.parametrize("mode", ALL)
def test_a_search_for_a_program_does_not_wait_for_a_peer_that_never_reads(mode):
    """In coalesce each execve, execvp, execveat and fexecve that failed waited a second: a search of 8
    folders took 8."""
    facts = stuck_peer("search", mode)
    assert [facts[f"ms_{way}"] < 500 for way in range(4)] == 4 * [True], facts
    assert (facts["lost"], facts["ended"]) == (0, True)


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how", ["execv", "execvp", "exit", "_exit", "filter"])
def test_a_peer_that_reads_a_moment_later_gets_all_that_a_program_wrote_before_its_end(how, mode):
    """In coalesce these wait for it, up to a second."""
    assert [stuck_peer(how, mode)[fact] for fact in ("lost", "ended")] == [0, True]


@pytest.mark.parametrize("mode", ["bare", "auto", "coalesce"])
@pytest.mark.parametrize("how", ["closed_execv", "closed__exit", "closed_filter"])
def test_the_same_of_a_connection_that_is_closed_before(how, mode):
    assert [stuck_peer(how, mode)[fact] for fact in ("lost", "ended")] == [0, True]


@pytest.mark.parametrize("mode", ALL)
def test_a_write_that_does_not_block_waits_for_no_other_thread(mode):
    """In coalesce the other thread sends what is buffered, and may wait for a peer that never reads."""
    facts = stuck_peer("other_waits", mode)
    assert facts["ms"] < 500 and facts["lost"] == 0


@pytest.mark.parametrize("mode", ["bare", "auto", "coalesce"])
@pytest.mark.parametrize("how", ["child", "shutdown", "rights"])
def test_a_peer_that_reads_late_gets_all_and_the_end(how, mode):
    """In coalesce a child kept the closed connection open; a shutdown while another thread was amid a fork
    lost the last bytes; after 16 changes of rights nobody sent them."""
    assert [stuck_peer(how, mode)[fact] for fact in ("lost", "ended")] == [0, True]


@pytest.mark.parametrize("mode", ["bare", "auto", "coalesce"])
def test_a_child_made_unseen_keeps_what_it_has_at_the_number_of_a_closed_connection(mode):
    """In coalesce the library closed it there: it took the number for its own."""
    assert stuck_peer("raw_child", mode)["lost"] == 0


@pytest.mark.parametrize("mode", ["bare", "auto", "coalesce"])
def test_a_peer_that_never_reads_wakes_nobody_often(mode):
    """In coalesce the window's thread woke up 900 times a second."""
    assert stuck_peer("idle", mode)["wakes"] < 250


@pytest.mark.parametrize("mode", ["bare", "auto", "coalesce"])
def test_closed_connections_whose_peers_never_read_cost_no_descriptor(mode):
    """In coalesce each kept a number of the program for ever."""
    assert stuck_peer("closes", mode)["open"] < 20


@pytest.mark.parametrize("mode", CURING_MODES)
def test_answers_that_are_read_unseen_make_no_one_way_stream(mode):
    """In auto eight small writes without any input that we saw were given back to Nagle, for good."""
    assert not run_judged(program("was_unseen_reads"), mode, 24, UNSTALL_THREAD="always").stalls


@pytest.mark.parametrize("mode", ALL)
def test_a_wait_writes_no_further_than_the_kernel(mode):
    """The kernel goes by words of `long`.  We copied words of 8 bytes and wrote them back: SIGSEGV, or the
    loss of what another thread had stored behind a set of a 32-bit program."""
    run_with_peer("was_end_of_set", mode, WARM_UP, timeout=20, received=pattern((WARM_UP + 1) * EXCHANGE))


@pytest.mark.parametrize("mode", CURING_MODES)
def test_a_push_during_a_slow_send_does_not_forget_what_comes_after_it(mode):
    """The window ended between our note of the hold and the send itself: its bytes were never pushed."""
    slow = compile_c(PROGRAMS / "slow_sends.c", "-shared", "-fPIC")

    def median_ms():
        done = run_with_peer("put_write", mode, 12, LD_PRELOAD=f"{LIB}:{slow}", UNSTALL_THREAD="always",
                             received=pattern(12 * EXCHANGE))
        return done.median_ms

    assert least(median_ms, 30) < 30  # two sends of 5 ms, and no stall


@pytest.mark.parametrize("mode", ["bare", *CURING_MODES])
@pytest.mark.parametrize("how", ["sendfile", "splice"])
def test_what_a_bulk_call_moves_counts_not_what_it_may_move(how, mode):
    """A generous length made the body a large write, which needs no cure: 40 ms an exchange."""
    assert run_judged(program(f"was_generous_{how}"), mode, 12).stalls is (mode == "bare")


def test_ancillary_data_without_descriptors_keeps_the_option_certain():
    """After each such datagram TCP_NODELAY was set again on all connections."""
    with AnsweringPeer() as peer:
        trace = run_strace([program("was_datagrams"), *peer.target, 12], mode_env("nodelay"))
    assert len([call for call in trace.calls if call.is_push()]) == 1


@pytest.mark.parametrize("mode", CURING_MODES)
def test_many_messages_cost_one_question(mode):
    """Once a connection was cured, sendmmsg asked of each of 64 headers if it may be read: up to 30 %."""
    with AnsweringPeer() as peer:
        trace = run_strace([program("was_many_messages"), *peer.target, 12], mode_env(mode))
    names = [call.name for call in trace.between(BEGIN, END)]
    assert "sendmmsg" in names and len(names) <= 3, names


@pytest.mark.parametrize("mode", ["off", "observe", "nodelay", "auto"])
def test_a_connection_made_unseen_costs_three_queries(mode):
    """Its own TCP_NODELAY made us ask two more."""
    with AnsweringPeer() as peer:
        trace = run_strace([program("was_made_unseen"), *peer.target, 8], mode_env(mode))
    asked = [call for call in trace.between(BEGIN, END) if call.name == "getsockopt" and
             not call.has("TCP_INFO")]
    assert len(asked) <= 3, [str(call) for call in asked]
    mapped = [call for call in trace.between(BEGIN, END) if call.name == "mmap"]
    # the connections, and in observe their evidence; but no list of their cookies
    assert len(mapped) <= 1 + (mode == "observe"), [str(call) for call in mapped]


@pytest.mark.parametrize("mode", MODES)
def test_a_socket_whose_protocol_has_the_number_of_tcp_is_no_connection(mode, tmp_path):
    """A netlink socket of NETLINK_XFRM was one: held by MSG_MORE, pushed, and told as a suspected stall."""
    if run([program("was_taken_for_tcp")], bare_env(), check=False).returncode == 77:
        skip("this kernel has no netlink socket of NETLINK_XFRM")
    env = preload_env(mode, UNSTALL_REPORT=report_pattern(tmp_path))
    bare, other = (run_strace([program("was_taken_for_tcp")], each).between(BEGIN, END)
                   for each in (bare_env(), env))
    asked = [call.args.split(", ")[2] for call in other if call.name == "getsockopt"]
    assert asked == ["SO_PROTOCOL", "SO_COOKIE", "SO_TYPE"]
    assert [call.name for call in other if call.name != "getsockopt"] == [call.name for call in bare]
    assert sum(report["connections"] for report in read_reports(tmp_path)) == 0


@pytest.mark.parametrize("mode", ALL)
def test_a_copy_made_unseen_reads_back_what_the_application_left(mode):
    """Closing the known number left our TCP_NODELAY=1 to the copy, where it looked like the application's."""
    done = run_with_peer("was_copied_unseen", mode, 8)
    assert done.facts["nodelay"] == 0


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how", ["writes", "jumps", "closes"])
def test_a_handler_within_a_blocking_write(how, mode):
    """In coalesce it waited for the write beneath it, or left the connection as if it were still in it.
    What it had written was dropped when the descriptor was closed."""
    with ScriptedPeer(1000, seconds=0.5, receive_buffer=2304) as peer:
        done = run_client(program("was_draining"), mode, *peer.target, 0, 0, how, timeout=10)
    assert done.facts["bytes"] <= len(peer.connections[0].received) <= done.facts["at_most"]


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how, sent, early", [("interrupts", -1, True), ("restarts", 8000, False),
                                              ("closes", 8000, False), ("cancels", 0, False)])
def test_the_second_of_two_blocked_writes(how, sent, early, mode):
    """In coalesce it waited for the first one's send, and no signal ended that."""
    with ScriptedPeer(1000, told=True, receive_buffer=2304) as peer:
        done = run_client(program("was_second_writer"), mode, *peer.target, 0, 0, how, timeout=20,
                          UNSTALL_WINDOW_US=100000)
    facts = [done.facts[name] for name in ("sent", "error", "early")]
    assert facts == [sent, errno.EINTR if early else 0, early]


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("how", ["spawn", "vfork", "ioctl"])
@pytest.mark.parametrize("mode", ALL)
def test_close_on_exec_does_not_keep_a_connection_from_another_program(mode, how, own):
    """It was thought not to survive, and the next program took our TCP_NODELAY for its own."""
    with AnsweringPeer() as peer:
        done = run([program("was_close_on_exec"), *peer.target, 0, 0, own, how], mode_env(mode))
    assert done.stdout == f"second: nodelay {own} cork 0\n"


def test_a_report_beyond_the_files_limit_is_no_trouble_of_the_program(tmp_path):
    """SIGXFSZ by our own words ended it."""
    done = run(["/bin/true"], preload_env("auto", UNSTALL_REPORT=report_pattern(tmp_path)), check=False,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    assert done.returncode == 0


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how, status", [("end", 5), ("exec", 6), ("failed_exec", 0), ("abort", -6),
                                         ("write", 0), ("fork", 0)])
def test_a_handler_with_a_small_stack(how, status, mode, tmp_path):
    """A report or a line of the log took up to 9 KB of a handler's 8 KB (SIGSEGV)."""
    with AnsweringPeer() as peer:
        done = run([program("was_handler_on_small_stack"), *peer.target, 4, 0, how],
                   mode_env(mode, UNSTALL_VERBOSE=2, UNSTALL_LOG=f"{tmp_path}/%p.log",
                            UNSTALL_REPORT=report_pattern(tmp_path)), check=False)
    assert done.returncode == status, done.stderr
    if mode != "bare":
        assert list(tmp_path.glob("*.log")) and list(tmp_path.glob("*.json"))


@pytest.mark.parametrize("mode", CURING_MODES)
def test_a_descriptor_met_by_two_threads_at_once_is_one_connection(mode):
    """It was counted twice, outlived its close, and undid an option that the application set
    on the next one."""
    with SilentPeer() as peer:
        done = run_client(program("was_met_by_two"), mode, *peer.target, 200)
    assert done.facts["undone"] == 0


@pytest.mark.parametrize("how", ["system", "fork"])
@pytest.mark.parametrize("mode", CURING_MODES)
def test_stdio_on_a_socket_stays_cured_when_another_program_was_run(mode, how):
    """TCP_NODELAY was given back before it, and no write passed by at which it would have been set again."""
    received = pattern(EXCHANGE) + pattern(12 * EXCHANGE)
    assert not run_judged(program("was_stdio_then_ran"), mode, 12, how, received=received).stalls


@pytest.mark.parametrize("mode", CURING_MODES)
def test_a_child_that_runs_a_program_late_does_not_bring_the_stall_back(mode):
    """After 32 late pushes the parent relied on its memory of the option: from then on
    it stalled for ever."""
    received = b"".join(pattern(many * EXCHANGE) for many in (12, 150, 12))
    assert not run_judged(program("was_forked_then_ran"), mode, 12, received=received, timeout=30).stalls


@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("how", ["unshare", "filter"])
def test_what_is_held_when_the_window_s_thread_is_ended_leaves(how, mode):
    """A hold begun between the thread's last look and its end was forgotten: 200 ms, in coalesce for ever."""
    def late():
        done = run_with_peer("was_held_at_the_stop", mode, 600, 0, how, timeout=60)
        return done.facts["late"]  # 4 to 161 in cork, all in coalesce, when it was forgotten

    assert least(late, 1, tries=15) == 0


@pytest.mark.parametrize("mode", CURING_MODES)
def test_what_the_program_sets_stays_while_another_thread_runs_programs(mode):
    """A program that still took 0 for its wish put its TCP_NODELAY=1 back to 0, and nothing set it again."""
    done = run_with_peer("was_set_meanwhile", mode, 4000, timeout=300)
    assert done.facts["lost"] == 0


@pytest.mark.parametrize("mode", ALL)
def test_what_a_forked_child_has_set_stays_when_the_parent_closes(mode):
    """The parent, of which it was known that others may have the connection, put 0 back at its close."""
    done = run_with_peer("was_set_by_child", mode, WARM_UP)
    assert done.facts["nodelay"] == 1


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("how", ["fork", "_Fork"])
def test_what_the_program_sets_after_a_fork_stays_when_the_child_runs_a_program(how, mode):
    """The child put back the 0 that was set before the fork: each exchange of the parent stalled."""
    done = run_judged(program("was_set_after_fork"), mode, WARM_UP, 0, how, cured=True,
                      received=2 * pattern(WARM_UP * EXCHANGE))
    assert (done.facts["nodelay"], done.facts["kernel"]) == (1, 1)
    assert not done.stalls


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pair", range(5))
def test_a_name_may_first_be_called_on_a_connection_that_is_known_well(pair, mode):
    """The shortest way of a read called the next definition before it was looked up: SIGSEGV."""
    run_with_peer("names_later", mode, 2 * WARM_UP, 0, pair)


@pytest.mark.parametrize("mode", ALL)
def test_an_inherited_connection_is_not_overtaken_by_its_other_owner(mode, tmp_path):
    """In coalesce the other owner's bytes came first, which it had written once it was told."""
    told = tmp_path / "told"
    told.touch()
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            socket.create_connection(listener.getsockname()) as theirs, listener.accept()[0] as peer:
        client = subprocess.Popen([program("was_overtaken"), str(theirs.fileno()), str(told)],
                                  env=mode_env(mode, **WIDE), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  pass_fds=[theirs.fileno()])
        assert peer.recv(3) == b"ask" and peer.send(b"a")
        assert wait_until(lambda: not told.exists())
        theirs.sendall(b"third")
        client.communicate(timeout=20)
        theirs.close()
        assert peer.makefile("rb").read() == b"firstsecondthird"
    assert client.returncode == 0
