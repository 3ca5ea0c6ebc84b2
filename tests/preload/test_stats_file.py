# SPDX-License-Identifier: MIT
"""UNSTALL_STATS: the file agrees with the program's calls, and nothing about it can hurt the program."""

import contextlib
import os
import re
import resource
import signal
import subprocess

import pytest

from harness import (DESTINATION, LISTENER, MODES, MODE_NUMBERS, AnsweringPeer, SilentPeer, StatsFile, added,
                     mode_env, preload_env, program, program_shapes, refuses, request_all, run, run_client,
                     run_strace, run_with_peer, skip, spawned, started_server, stats_directory,
                     stats_files_in, stats_in, wait_for_stats_file)

HEADER, BODY, REPLY = 200, 100, 200
HISTOGRAM_ERROR = 1 / 32


@pytest.fixture
def directory():
    with stats_directory() as path:
        yield path


def exchanges(directory, mode, threads, connections, each, *more, **variables):
    """Run stats_exchanges; gives its output, and the statistics file."""
    done = run_with_peer("stats_exchanges", mode, threads, connections, each, *more, UNSTALL_STATS=directory,
                         timeout=120, **variables)
    return done, stats_in(directory)


@contextlib.contextmanager
def waiting(directory, threads, each):
    """stats_exchanges, once it has made so many exchanges by each thread: it waits for a line."""
    with AnsweringPeer() as peer, \
            spawned([program("stats_exchanges"), *peer.target, threads, 1, each, "wait"],
                    preload_env("auto", UNSTALL_STATS=directory), stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == "ready\n"
        yield child


def python(directory, code, *words):
    """The output of a script under the library."""
    return run(["/usr/bin/python3", "-c", code, *words], preload_env("auto", UNSTALL_STATS=directory))


# ---- counts ------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_totals_are_what_the_program_did(directory, mode):
    done, stats_file = exchanges(directory, mode, 1, 3, 20)
    row = stats_file.row(role=DESTINATION)
    assert row["mode"] == MODE_NUMBERS[mode] and row["arm"] == 255
    expected = {
        "connections": 3, "connections_ended": 3, "first_writes": 3,
        "writes": 120, "small_writes": 120, "bytes": 60 * (HEADER + BODY),
        "messages": 60, "exchanges": 60, "bursts": 60, "bursts_of_2": 60,
        "bursts_of_3": 0, "bursts_of_4_to_7": 0, "bursts_of_8_or_more": 0,
        "answers": 57, "segments": done.facts["segments"], "unseen_bytes": 0,
    }
    assert {name: row[name] for name in expected} == expected
    assert row["reads"] >= 60 and row["turns"] == 60
    assert sum(n for _, n in row["exchange"]) == 60
    assert sum(n for _, n in row["answer"]) == 57
    pushes = sum(row[name] for name in row if name.startswith("pushes_"))
    if mode == "coalesce":
        assert row["buffered_writes"] > 100
    assert (pushes + row["late_pushes"] > 0) is (mode not in ("off", "observe"))
    assert stats_file["program"].endswith("/" + program("stats_exchanges").name)
    assert stats_file["mode"] == MODE_NUMBERS[mode] and stats_file["ended_monotonic_ns"] > 0
    assert stats_file.total("connections") == 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name, seen",
                         [("stdio_two_files", 0), ("stdio_on_socket", 0), ("stdio_write_dprintf", None)])
def test_bytes_that_nobody_saw_written_are_counted(directory, name, seen, mode):
    with AnsweringPeer(reply=b"r" * 199 + b"\n") as peer:
        run_client(program(name), mode, *peer.target, 12, UNSTALL_STATS=directory)
    row = stats_in(directory).row(role=DESTINATION)
    assert row["bytes"] + row["unseen_bytes"] == 12 * (HEADER + BODY) and row["unseen_bytes"] > 0
    assert row["bytes"] == seen or seen is None
    assert row["connections"] == row["untracked"] == 1


@pytest.mark.parametrize("name", ["child_writes_body", "child_exchanges"])
def test_what_a_child_or_parent_wrote_is_not_unseen(directory, name):
    run_with_peer(name, "observe", 12, UNSTALL_STATS=directory)
    found = stats_files_in(directory)
    assert found and not [stats_file for stats_file in found if stats_file.total("unseen_bytes")]


def test_times_add_up(directory):
    _, stats_file = exchanges(directory, "off", 1, 1, 12)
    row, record = stats_file.row(role=DESTINATION), stats_file["records"][0]
    low = sum(lowest * n for lowest, n in row["exchange"])
    assert low <= row["exchange_ns"] <= low * (1 + HISTOGRAM_ERROR) + 12 * 1024
    low = sum(lowest * n for lowest, n in row["answer"])
    assert low <= row["answer_ns"] <= low * (1 + HISTOGRAM_ERROR) + 11 * 1024
    assert row["exchange_ns"] > 9 * 20_000_000  # stalled, but for the first ones
    assert record["exchange_ns"] == row["exchange_ns"] and record["exchanges"] == record["coarse"] == 12
    assert record["exchange_longest_ns"] > 20_000_000
    assert record["opened_ns"] < record["ended_ns"]
    assert record["first_write_us"] < 1_000_000


def test_records_tell_the_ends(directory):
    with AnsweringPeer() as peer:
        run_client(program("stats_exchanges"), "auto", *peer.target, 1, 2, 5, UNSTALL_STATS=directory)
    stats_file = stats_in(directory)
    assert [record["serial"] for record in stats_file["records"]] == [1, 2]
    for record in stats_file["records"]:
        assert record["peer"] == {"family": 2, "port": peer.port, "bytes": "7f000001" + "0" * 24}
        assert record["local"]["port"] not in (0, peer.port)
        assert (record["messages"], record["bursts"], record["writes"]) == (5, 5, 10)
        assert record["bytes"] == 5 * (HEADER + BODY)
    assert stats_file.row(role=DESTINATION)["endpoint"]["port"] == peer.port


def test_eight_threads_lose_no_count(directory):
    _, stats_file = exchanges(directory, "nodelay", 8, 1, 1000)
    row = stats_file.row(role=DESTINATION)
    assert (row["connections"], row["exchanges"], row["messages"]) == (8, 8000, 8000)
    assert (row["writes"], row["bytes"]) == (16000, 8000 * (HEADER + BODY))
    assert sum(n for _, n in row["exchange"]) == 8000
    assert sum(record["exchanges"] for record in stats_file["records"]) == 8000


def test_two_thousand_connections_and_a_ring(directory):
    _, stats_file = exchanges(directory, "auto", 1, 2000, 1)
    assert stats_file.row(role=DESTINATION)["connections"] == 2000
    assert stats_file["lost_connections"] == 0
    serials = sorted(record["serial"] for record in stats_file["records"])
    assert serials == list(range(2000 - 1024 + 1, 2001)), "the last ones are kept"
    assert stats_file.total("exchanges") == 2000


@pytest.fixture
def many_descriptors():
    """For the peer in this process and for children: an ordinary user may often open 1024 only."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_descriptors")
def test_the_living_keep_their_records(directory):
    with AnsweringPeer() as peer:
        run([program("stats_exchanges"), *peer.target, 1, 1100, 1, "keep"],
            preload_env("auto", UNSTALL_STATS=directory), timeout=120)
    stats_file = stats_in(directory)
    assert stats_file["lost_connections"] == 1100 - 1024
    assert sorted(record["serial"] for record in stats_file["records"]) == list(range(1, 1025))
    assert stats_file.row(role=DESTINATION)["connections"] == 1100


def test_more_endpoints_than_rows_go_to_other(directory):
    code = ("import socket\n"
            "open_ones = []  # or the kernel might give a port twice\n"
            "for _ in range(40):\n"
            "    l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(); open_ones.append(l)\n"
            "    c = socket.create_connection(l.getsockname()); c.send(b'x'); c.close()\n")
    python(directory, code)
    stats_file = stats_in(directory)
    assert len(stats_file.rows) == 32
    assert stats_file.row(index=0)["connections"] == 9 and stats_file["lost_rows"] == 9
    assert stats_file.total("writes") == 40


@pytest.mark.parametrize("mode", MODES)
def test_a_server_counts_by_listener(directory, mode):
    with started_server([program("server_accept")], mode, UNSTALL_STATS=directory) as (_, port):
        request_all(port, 10)
    stats_file = stats_in(directory)
    row = stats_file.row(role=LISTENER)
    assert row["endpoint"]["port"] == port
    assert (row["connections"], row["messages"], row["bursts_of_2"]) == (1, 10, 10)
    assert row["answers"] == 10 and sum(n for _, n in row["answer"]) == 10
    assert row["exchanges"] == 9, "the next request is the end of an exchange"
    assert row["first_writes"] == 1


@pytest.mark.unstarved
def test_readers_of_another_thread_do_not_blur_messages(directory):
    """In off the call comes first, and its answer may be read before it is accounted for: the exchange went
    on into the next message."""
    run_with_peer("reader_thread", "off", 60, UNSTALL_STATS=directory)
    row = stats_in(directory).row(role=DESTINATION)
    assert row["messages"] == row["exchanges"] and row["exchanges"] == 60
    assert row["exchange_ns"] < 60 * 120_000_000


def test_a_one_way_stream_counts_while_it_runs(directory):
    code = ("import socket, sys\n"
            "s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
            "for _ in range(640): s.send(b'line')\n"
            "print('ready', flush=True); sys.stdin.read()\n")
    with SilentPeer() as peer:
        with spawned(["/usr/bin/python3", "-c", code, *peer.target],
                     preload_env("auto", UNSTALL_STATS=directory), stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE) as child:
            assert child.stdout.readline() == "ready\n"
            assert stats_in(directory).row(role=DESTINATION)["writes"] == 640


# ---- processes ------------------------------------------------------------


def test_a_process_without_tcp_has_no_file(directory):
    for name in ("plain_pipe", "plain_unix", "plain_udp", "plain_threads", "plain_file"):
        run([program(name)], preload_env("auto", UNSTALL_STATS=directory), cwd="/tmp")
    run(["/bin/sh", "-c", "for i in 1 2 3; do /bin/true; done | cat"],
        preload_env("auto", UNSTALL_STATS=directory))
    assert stats_files_in(directory) == []


def test_a_socket_that_is_never_connected_makes_no_file(directory):
    python(directory, "import socket; socket.socket().close()")
    assert stats_files_in(directory) == []


def test_the_file_can_be_read_after_kill(directory):
    with waiting(directory, 2, 50) as child:
        alive = stats_in(directory)
        child.kill()
        assert child.wait(20) == -signal.SIGKILL
    stats_file = stats_in(directory)
    assert stats_file["ended_monotonic_ns"] == 0
    for seen in (alive, stats_file):
        row = seen.row(role=DESTINATION)
        assert (row["connections"], row["connections_ended"], row["exchanges"]) == (2, 0, 100)
        assert row["bytes"] == 100 * (HEADER + BODY)


def test_no_descriptor_stays_open(directory):
    with waiting(directory, 1, 5) as child:
        targets = [os.readlink(f"/proc/{child.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{child.pid}/fd")]
    assert not [target for target in targets if str(directory) in target]
    assert len(targets) == 4, targets  # standard streams and the connection


def test_what_is_left_open_is_counted_at_exit(directory):
    for end in ("abandon", "keep"):
        done, stats_file = exchanges(directory, "auto", 1, 2, 9, end)
        row = stats_file.row(role=DESTINATION)
        assert (row["exchanges"], row["connections_ended"]) == (18, 2)
        assert row["segments"] == done.facts["segments"]
        stats_file.path.unlink()


def test_a_forked_server_has_a_file_for_each_child(directory):
    with started_server([program("server_fork")], "auto", UNSTALL_STATS=directory) as (process, port):
        request_all(port, 6)
    parent, child = stats_files_in(directory)
    assert parent["pid"] == process.pid and child["parent"] == process.pid
    assert parent.total("writes") == 0
    assert (child.total("writes"), child.total("messages"), child.total("bursts_of_2")) == (12, 6, 6)
    assert child["records"][0]["local"]["port"] == port


def test_children_that_run_programs_make_no_file(directory):
    """system, popen, posix_spawn and vfork from a process that has one."""
    code = ("import os, socket, subprocess\n"
            "l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen()\n"
            "os.system('true'); os.popen('true').read(); subprocess.run(['true'])\n"
            "os.waitpid(os.posix_spawn('/bin/true', ['true'], os.environ), 0)\n"
            "if os.fork() == 0: os.execv('/bin/true', ['true'])\n"
            "os.wait()\n")
    python(directory, code)
    assert stats_in(directory)["ended_monotonic_ns"] > 0


DROPS = {
    "setuid": "os.setuid(65534)", "seteuid": "os.seteuid(65534)", "setreuid": "os.setreuid(65534, 65534)",
    "setresuid": "os.setresuid(65534, 65534, 65534)",
    "syscall": "ctypes.CDLL(None).syscall(117, 65534, 65534, 65534)",  # SYS_setresuid of x86-64
}


@pytest.mark.parametrize("how", DROPS)
def test_the_workers_of_a_server_of_root_count_too(directory, how):
    """A worker becomes another user right after its fork, and could make no file in root's directory then."""
    if os.geteuid() != 0:
        skip("only root can become another user")
    if how == "syscall" and os.uname().machine != "x86_64":
        skip("the number of another processor's setresuid is not known here")
    code = ("import ctypes, os, socket\n"
            "l = socket.create_server(('127.0.0.1', 0))\n"
            "if os.fork() == 0:\n"
            f"    {DROPS[how]}; assert os.geteuid() == 65534\n"
            "    c = socket.create_connection(l.getsockname()); a, _ = l.accept()\n"
            "    c.send(b'x'); a.recv(1); a.send(b'y'); c.recv(1); os._exit(0)\n"
            "assert os.wait()[1] == 0\n")
    done = python(directory, code)
    assert done.stderr == ""
    master, worker = stats_files_in(directory)
    assert (master.total("writes"), worker.total("writes"), worker.total("exchanges")) == (0, 2, 1)


def test_becoming_another_user_alone_makes_no_file(directory):
    if os.geteuid() != 0:
        skip("only root can become another user")
    python(directory, "import os; os.setuid(65534)")
    assert stats_files_in(directory) == []


def test_exec_ends_the_file_and_a_failed_one_does_not(directory):
    code = ("import os, socket\n"
            "l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen()\n"
            "try: os.execv('/nonexistent', ['x'])\n"
            "except OSError: pass\n"
            "import struct\n"
            "path = os.environ['UNSTALL_STATS'] + '/' + os.listdir(os.environ['UNSTALL_STATS'])[0]\n"
            "print(struct.unpack_from('<Q', open(path, 'rb').read(64), 40)[0])\n"
            "os.execv('/bin/true', ['true'])\n")
    done = run(["/usr/bin/python3", "-u", "-c", code], preload_env("auto", UNSTALL_STATS=directory))
    assert done.stdout.split() == ["0"]
    assert stats_in(directory)["ended_monotonic_ns"] > 0


def test_a_running_process_takes_what_it_uses(directory):
    with waiting(directory, 1, 5):
        path, = directory.iterdir()
        assert path.stat().st_blocks * 512 < 600_000


def test_what_an_ended_process_leaves_is_small(directory):
    _, stats_file = exchanges(directory, "auto", 1, 1, 5)
    status = stats_file.path.stat()
    assert status.st_size == stats_file["bytes"] and status.st_mode & 0o777 == 0o600
    assert status.st_blocks * 512 < 400_000


# ---- nothing about it hurts ------------------------------------------------


def refused(directory, expected, *, env=None, prefix=(), count=1):
    """The program runs to its end as ever, with one warning that says `expected`, and no statistics file."""
    with AnsweringPeer() as peer:
        done = run([*prefix, program("stats_exchanges"), *peer.target, 1, 2, 4],
                   preload_env("auto", UNSTALL_STATS=directory, **(env or {})))
    assert '"loaded": true' in done.stdout
    warnings = [line for line in done.stderr.splitlines() if line.startswith("unstall:")]
    assert len(warnings) == count, done.stderr
    assert all(expected in line for line in warnings), warnings


def test_the_worlds_own_directory_is_refused():
    before = set(os.listdir("/dev/shm"))
    refused("/dev/shm", "writable by no other user")
    assert not [name for name in set(os.listdir("/dev/shm")) - before if name.endswith(".unstall")]


def give_away(directory):
    if os.geteuid() != 0:
        skip("only root can make a directory of another user")
    os.chown(directory, 12345, 12345)


# what is done to the directory, the path that is named, a part of the warning
REFUSED = [(lambda directory, mode=mode: directory.chmod(mode), "", "mkdir -m 700")
           for mode in (0o777, 0o1777, 0o720, 0o702)]
REFUSED += [(give_away, "", "the process's own user")]
REFUSED += [(lambda _: None, path, expected) for path, expected in (
    ("link", "no symbolic link"), ("link/", "no symbolic link"), ("link//", "no symbolic link"),
    ("gone", "no such directory"), ("x/" * 600, "no such directory"), ("x/" * 2100, "cannot be opened"),
    ("file", "expected a directory"))]


@pytest.mark.parametrize("prepare, path, expected", REFUSED, ids=range(len(REFUSED)))
def test_a_directory_that_others_can_change_or_that_is_none(directory, prepare, path, expected):
    (directory / "real").mkdir(mode=0o700)
    (directory / "link").symlink_to("real")
    (directory / "file").write_text("")
    prepare(directory)
    before = set(directory.rglob("*"))
    refused(f"{directory}/{path}" if path else directory, expected)
    assert set(directory.rglob("*")) == before


def test_a_disk_is_refused(tmp_path):
    if subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True,
                      check=True).stdout.strip() == "tmpfs":
        skip("the temporary directory is on tmpfs here")
    tmp_path.chmod(0o700)
    refused(tmp_path, "tmpfs")
    assert list(tmp_path.iterdir()) == []


def test_a_relative_path_is_refused_as_a_bad_value():
    refused("stats", "the whole path of a directory")


def test_a_limit_on_file_sizes(directory):
    """ftruncate(2) beyond RLIMIT_FSIZE raises SIGXFSZ, which ends the program."""
    refused(directory, "can be made", prefix=["/bin/sh", "-c", 'ulimit -f 100 && exec "$@"', "sh"])
    assert list(directory.iterdir()) == []


def test_no_descriptor_to_be_had(directory):
    code = ("import os, resource, socket\n"
            "l = socket.socket(); l.bind(('127.0.0.1', 0))\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (l.fileno() + 1, 99))\n"
            "l.listen(); print('listens')\n")
    done = python(directory, code)
    assert done.stdout == "listens\n" and done.stderr.count("unstall:") == 1


def tiny_tmpfs(size, script):
    """Run a script in a mount namespace in which $PLACE is a tmpfs of `size`."""
    if os.geteuid() != 0:
        skip("mounting needs root")
    whole = f"mount -t tmpfs -o size={size},mode=700 none $PLACE && {script}"
    return ["unshare", "--mount", "--", "/bin/sh", "-c", whole, "sh"]


def test_a_full_file_system(tmp_path):
    refused(tmp_path, "no room", prefix=tiny_tmpfs("64k", 'LD_PRELOAD=$LIB "$@"; ls -A $PLACE >&2'),
            env={"LIB": preload_env()["LD_PRELOAD"], "LD_PRELOAD": "", "PLACE": tmp_path})


def test_a_file_system_that_fills_up_later(tmp_path):
    """Unreserved pages are never touched, not even by a look: that would be SIGBUS. New endpoints, records
    and stacks find no room; existing ones go on counting."""
    script = 'LD_PRELOAD=$LIB "$@" && cp $PLACE/*.unstall $KEPT'
    kept = tmp_path / "kept"
    place = tmp_path / "place"
    place.mkdir()
    code = ("import os, socket, sys\n"
            "l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen()\n"
            "try:\n"
            "    f = open(os.environ['PLACE'] + '/filler', 'wb', buffering=0)\n"
            "    while f.write(b'x' * 65536): pass\n"
            "except OSError as e: print(e.errno)\n"
            "for i in range(100):\n"
            "    if i % 20 == 0: l = socket.create_server(('127.0.0.1', 0))\n"
            "    c = socket.create_connection(l.getsockname()); a, _ = l.accept()\n"
            "    for _ in range(3):\n"
            "        c.send(b'a' * 10); c.send(b'b' * 10)\n"
            "        while not a.recv(100).endswith(b'b'): pass\n"
            "        a.send(b'x'); c.recv(10)\n"
            "print('whole')\n")
    done = run([*tiny_tmpfs("400k", script), "/usr/bin/python3", "-c", code],
               preload_env("auto", UNSTALL_STATS=place, LIB=preload_env()["LD_PRELOAD"], LD_PRELOAD="",
                           PLACE=place, KEPT=kept))
    assert done.stdout.split() == ["28", "whole"] and done.stderr == ""
    stats_file = StatsFile(kept)
    assert [row["index"] for row in stats_file.rows] == [0] and stats_file["lost_rows"] == 200
    assert stats_file.total("connections") == 200 and stats_file.total("exchanges") >= 300
    assert stats_file["records"] == [] and stats_file["lost_connections"] == 200


def test_a_kernel_that_cannot_reserve_in_pieces(directory):
    """madvise(MADV_POPULATE_WRITE) is EINVAL before Linux 5.14."""
    without = refuses("madvise", 2, "MADV_POPULATE_WRITE", "EINVAL")
    with AnsweringPeer() as peer:
        run([without, program("stats_exchanges"), *peer.target, 2, 3, 20],
            preload_env("auto", UNSTALL_STATS=directory))
    path, = directory.iterdir()
    row = StatsFile(path).row(role=DESTINATION)
    assert (row["connections"], row["exchanges"]) == (6, 120)
    assert StatsFile(path)["lost_rows"] == StatsFile(path)["lost_connections"] == 0


def test_a_deleted_file_and_a_deleted_directory(directory):
    with AnsweringPeer() as peer:
        child = subprocess.Popen([program("stats_exchanges"), *peer.target, "1", "60", "2"],
                                 env=preload_env("auto", UNSTALL_STATS=directory), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        wait_for_stats_file(directory)
        for path in directory.iterdir():
            path.unlink()
        directory.rmdir()
        out, err = child.communicate(timeout=30)
        directory.mkdir(mode=0o700)
    assert child.returncode == 0 and '"loaded": true' in out and err == ""


def test_a_quiet_process_makes_no_call(directory):
    """After a seccomp filter of the program's own there is neither a file nor a question."""
    code = ("import ctypes, os, socket\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "class Insn(ctypes.Structure): _fields_ = [('c', ctypes.c_uint16), ('t', ctypes.c_uint8),"
            " ('f', ctypes.c_uint8), ('k', ctypes.c_uint32)]\n"
            "class Prog(ctypes.Structure): _fields_ = [('n', ctypes.c_uint16), ('p', ctypes.POINTER(Insn))]\n"
            "one = (Insn * 1)(Insn(6, 0, 0, 0x7fff0000))\n"
            "assert libc.prctl(38, 1, 0, 0, 0) == 0\n"
            "assert libc.prctl(22, 2, ctypes.byref(Prog(1, one)), 0, 0) == 0\n"
            "l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen()\n"
            "c = socket.create_connection(l.getsockname()); a, _ = l.accept()\n"
            "c.send(b'x'); c.send(b'y'); a.recv(9); a.send(b'z'); c.recv(9); c.close(); print('done')\n")
    done = python(directory, code)
    assert done.stdout == "done\n" and done.stderr == ""
    assert stats_files_in(directory) == []


@pytest.mark.parametrize("mode", MODES)
def test_after_a_filter_counting_goes_on_without_a_call(directory, mode):
    run_with_peer("stats_filtered", mode, UNSTALL_STATS=directory)
    stats_file = stats_in(directory)
    assert stats_file.total("exchanges") == 6 + 6 + 1, "the third connection was made under the filter"
    assert stats_file["ended_monotonic_ns"] > 0


@pytest.mark.parametrize("mode", ["off", "nodelay", "auto"])
def test_only_the_documented_calls_are_added(directory, mode):
    """Promise 6 with statistics: the making of the file, two names a connection, TCP_INFO at its end. (Stacks
    are looked at for a while at each place that writes; that is their own affair.)"""
    with AnsweringPeer() as peer:
        shapes = []
        for variables in ({}, {"UNSTALL_STATS": directory, "UNSTALL_STACKS": 0}):
            trace = run_strace([program("one_write"), *peer.target, 8], mode_env(mode, **variables))
            calls = program_shapes(trace)
            assert len(calls) == 1, "a thread was started"
            # the harness leaves TCP_INFO out, because its programs ask for it themselves
            shapes.append([re.sub(r"\d{5,}-[0-9a-f]+", "FILE", line) for line in calls[0]])
    more = added(*shapes)
    assert more is not None, "calls are missing or in another order"
    allowed = ("rt_sigprocmask(", "prlimit64(", f'openat(AT_FDCWD, "{directory}', "newfstatat(", "fstatat(",
               "geteuid(", "fstatfs(", "getpid(", "getppid(", "openat(", "fchmod(", "ftruncate(",
               "madvise(", "mmap(", "munmap(", "close(", # a path is in a mapping while it is written
               "readlinkat(", "readlink(", "getpeername(", "getsockname(", "getsockopt(", "clock_gettime(")
    assert [line for line in more if not line.startswith(allowed)] == []
    assert sum(line.startswith(("getpeername(", "getsockname(")) for line in more) == 2
    assert sum(line.startswith("openat(") for line in more) == 2
    assert sum(line.startswith("getsockopt(") for line in more) == 0
    assert len(more) < 40, more


def test_bare_use_makes_no_call_for_it():
    with AnsweringPeer() as peer:
        trace = run_strace([program("one_write"), *peer.target, 8], mode_env("auto"))
    assert not [call for call in trace.calls if call.name in ("ftruncate", "getpeername", "fstatfs")]


def test_a_segment_says_that_it_is_one(directory):
    _, stats_file = exchanges(directory, "auto", 1, 1, 1)
    assert re.fullmatch(r"\d+-[0-9a-f]{16}\.unstall", stats_file.path.name)
    assert stats_file.path.name.startswith(f"{stats_file['pid']}-{stats_file['started_ns']:016x}")
    assert StatsFile(stats_file.path)["header_bytes"] > 0


def test_a_segment_is_its_users_whatever_the_umask(directory):
    run_with_peer("put_write", "auto", 1, UNSTALL_STATS=directory, preexec_fn=lambda: os.umask(0o777))
    assert stats_in(directory).path.stat().st_mode & 0o777 == 0o600
