# SPDX-License-Identifier: MIT
"""The variables: good and bad values, filters, children, setuid programs, reports and the log."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import (CURING_MODES, LIB, MODES, STALL_MS, AnsweringPeer, bare_env, judged, least, mode_env,
                     pattern, preload_env, program, read_reports, report_pattern, run, run_client, run_judged,
                     run_with_peer, skip)

# A value of each kind; the others are rows of tests/unit/test_config_values.c.
GOOD = [
    ("UNSTALL_MODE", "observe"), ("UNSTALL_NODELAY", "always"), ("UNSTALL_WINDOW_US", "100000"),
    ("UNSTALL_SMALL", "1"), ("UNSTALL_OVERRIDE", "0"), ("UNSTALL_PORTS", "80,8000-8999,!8443"),
    ("UNSTALL_PEERS", "!127.0.0.1,::1,fe80::/10,0.0.0.0/0"), ("UNSTALL_PROGRAMS", "python3,!java"),
    ("UNSTALL_CHILDREN", "1"), ("UNSTALL_VERBOSE", "0"), ("UNSTALL_LOG", "stderr"),
]

# variable, value, a word of the expected form
BAD = [
    ("UNSTALL_MODE", "fast", "auto"), ("UNSTALL_MODE", "a=b", "default"), ("UNSTALL_MODE", "", "default"),
    ("UNSTALL_NODELAY", "sometimes", "always"),
    ("UNSTALL_WINDOW_US", "499", "500"), ("UNSTALL_SMALL", "4x", "bytes"), ("UNSTALL_OVERRIDE", "yes", "1"),
    ("UNSTALL_CHILDREN", "2", "1"), ("UNSTALL_THREAD", "sometimes", "own"), ("UNSTALL_PORTS", "80,", "80"),
    ("UNSTALL_PEERS", "10.0.0.0/33", "10.0.0.0/8"), ("UNSTALL_PROGRAMS", "/usr/bin/python3", "python3"),
    ("UNSTALL_REPORT", "", "stderr"), ("UNSTALL_VERBOSE", "loud", "0"),
]


# ---- values ----------------------------------------------------------------

@pytest.mark.parametrize("name, value", GOOD)
def test_good_value_says_nothing(name, value):
    done = run(["/bin/sh", "-c", "echo out; exit 3"], preload_env(**{name: value}), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "")


@pytest.mark.parametrize("name, value, expected", BAD)
def test_bad_value_costs_one_line_and_nothing_else(name, value, expected):
    argv = ["/bin/cat", "/proc/self/comm", "/does/not/exist"]
    bare = run(argv, bare_env(), check=False)
    done = run(argv, preload_env(**{name: value}), check=False)
    assert (done.returncode, done.stdout) == (bare.returncode, bare.stdout)
    ours = [line for line in done.stderr.splitlines() if "UNSTALL" in line]
    assert done.stderr.replace("".join(f"{line}\n" for line in ours), "") == bare.stderr
    (line,) = ours
    assert line.startswith(f"unstall: {name}={value}:") and expected in line.split(name, 1)[1]


@pytest.mark.parametrize("name, value, expected", BAD)
def test_bad_value_leaves_the_default(name, value, expected):
    """The default mode still cures, but for a filter, which must not be half applied."""
    def segments():
        done = run_judged(program("put_write"), None, 12, cured=True,
                          **{"UNSTALL_THREAD": "always", name: value})
        assert not done.stalls, expected
        return done.segments

    if name == "UNSTALL_THREAD":  # by default it holds by habit alone: more than these exchanges
        segments()
    else:
        assert least(segments, 1.5) < 1.5  # on a busy machine windows end in the turns


@pytest.mark.parametrize("name", ["UNSTALL_MODUS", "UNSTALL_", "UNSTALL_MODE_", "UNSTALL_MODES",
                                  "UNSTALL_mode", "UNSTALL_WINDOW", f"UNSTALL_{60 * 'X'}"])
def test_unknown_name_costs_one_line(name):
    done = run(["/bin/echo", "out"], preload_env(**{name: "value"}))
    assert done.stdout == "out\n"
    (line,) = done.stderr.splitlines()
    assert name[:20] in line and "libunstall(7)" in line and "expected" in line


def test_names_that_only_look_alike_are_left_alone():
    done = run(["/bin/echo", "out"], preload_env(UNSTALLED="1", MY_UNSTALL_MODE="fast"))
    assert (done.stdout, done.stderr) == ("out\n", "")


def test_closed_stderr_is_no_trouble():
    done = run(["/bin/sh", "-c", "exec /bin/echo out 2>&-"], preload_env(UNSTALL_MODE="fast"))
    assert done.stdout == "out\n"


def test_report_does_not_go_into_a_file_that_got_number_two(tmp_path):
    """With descriptor 2 closed, the first file that the program opens is number 2.  It must
    not get the log."""
    target = tmp_path / "data"
    code = (f"import os; os.close(2); f = os.open({str(target)!r}, os.O_CREAT | os.O_WRONLY); "
            "os.write(f, b'own')")
    run(["/usr/bin/python3", "-c", code], preload_env(UNSTALL_REPORT="stderr"), check=False)
    assert target.read_bytes() == b"own"


# ---- filters ---------------------------------------------------------------

def stalls(address="127.0.0.1", mode="auto", wanted=True, **variables):
    """Whether the exchanges stall; it measures again what is not as wanted."""
    def measure():
        with AnsweringPeer(address=address) as peer:
            values = {name: value.format(port=peer.port, below=peer.port - 1, above=peer.port + 1)
                      for name, value in variables.items()}
            return run_client(program("put_write"), mode, *peer.target, 8, **values)

    return judged(measure, not wanted).stalls


@pytest.mark.parametrize("value", ["1-{below}", "!{port}"])
@pytest.mark.parametrize("mode", CURING_MODES)
def test_excluded_port_stalls(value, mode):
    assert stalls(mode=mode, UNSTALL_PORTS=value)


@pytest.mark.parametrize("address, cured, filters", [
    ("127.0.0.1", True, {"PORTS": "{port}"}), ("127.0.0.1", True, {"PORTS": "{below}-{above}"}),
    ("127.0.0.1", True, {"PORTS": "!1"}), ("127.0.0.1", True, {"PEERS": "10.0.0.0/8,127.0.0.0/30"}),
    ("127.0.0.1", True, {"PEERS": "!::1"}), ("::1", True, {"PEERS": "::1"}),
    ("127.0.0.1", False, {"PEERS": "127.0.0.0/8,!127.0.0.1/32"}), ("127.0.0.1", False, {"PEERS": "::1"}),
    ("::1", False, {"PEERS": "!::1/128"}),
    ("127.0.0.1", False, {"PORTS": "{port}", "PEERS": "10.0.0.0/8"}),  # both must include
], ids=str)
def test_a_connection_is_cured_where_the_filters_include_it(address, cured, filters):
    variables = {f"UNSTALL_{name}": value for name, value in filters.items()}
    assert stalls(address, wanted=not cured, **variables) is not cured


@pytest.mark.parametrize("value, cured", [
    ("{name}", True), ("java,{name}", True), ("!java", True), ("java", False), ("!{name}", False),
])
def test_programs(value, cured):
    name = program("put_write").name
    assert stalls(wanted=not cured, UNSTALL_PROGRAMS=value.replace("{name}", name)) is not cured


# ---- children --------------------------------------------------------------

@pytest.mark.parametrize("value, loaded", [("0", False), ("1", True), (None, True)])
@pytest.mark.parametrize("mode", CURING_MODES)
def test_children(mode, value, loaded):
    variables = {} if value is None else {"UNSTALL_CHILDREN": value}
    with AnsweringPeer() as peer:
        words = " ".join(str(word) for word in (program("put_write"), *peer.target, 8))
        done = run(["/bin/sh", "-c", f"{words}; exit 0"], mode_env(mode, **variables))
    facts = json.loads(done.stdout)
    assert facts["loaded"] is loaded
    assert (sorted(facts["us"])[4] < STALL_MS * 1000) is loaded


@pytest.mark.parametrize("value, left", [
    ("{us}", ""),
    ("{us}:libm.so.6", "libm.so.6"),
    ("libm.so.6:{us}", "libm.so.6:"),
    ("libm.so.6 {us} libdl.so.2", "libm.so.6 libdl.so.2"),
    ("libm.so.6:{us}:{us}:libdl.so.2", "libm.so.6:libdl.so.2"),
    ("{us}:/none/mylibunstall.so:ibunstall.so:{us}.1", "/none/mylibunstall.so:ibunstall.so:{us}.1"),
])
def test_bare_children_keep_the_users_other_preloads(value, left):
    """UNSTALL_CHILDREN=0 takes out our own entry of LD_PRELOAD, and no other one."""
    us = preload_env()["LD_PRELOAD"]
    for children, wanted in (("0", left), ("1", value)):
        env = preload_env(UNSTALL_CHILDREN=children, LD_PRELOADED=us)
        env["LD_PRELOAD"] = value.format(us=us)
        lines = run(["/usr/bin/env"], env).stdout.splitlines()
        assert f"LD_PRELOAD={wanted.format(us=us)}" in lines and f"LD_PRELOADED={us}" in lines


# ---- setuid ----------------------------------------------------------------

NOBODY = 65534


def as_root(*argv):
    """Run a command as root: directly, or by sudo where that asks nothing."""
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    try:
        subprocess.run([*prefix, *map(str, argv)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        skip("a setuid program needs root, or sudo without a password")


@pytest.fixture
def public_folder():
    """A folder that any user can enter (pytest's own cannot)."""
    folder = Path(tempfile.mkdtemp(prefix="unstall-setuid-"))
    folder.chmod(0o755)
    yield folder
    as_root("rm", "-rf", folder)


def run_setuid(binary, env):
    """Make `binary` setuid to another user than its caller, and run it; no cure is at work.  Its facts."""
    as_root("chown", NOBODY if os.geteuid() == 0 else "root", binary)
    as_root("chmod", "4755", binary)
    with AnsweringPeer() as peer:
        done = run([binary, *peer.target, 8], env)
        assert bytes(peer.connections[0].received) == pattern(8 * 300)
    facts = json.loads(done.stdout)
    assert done.stderr == "" and sorted(facts["us"])[4] > STALL_MS * 1000
    return facts


def test_setuid_program_is_bare(public_folder):
    """The loader ignores an LD_PRELOAD with a slash in a setuid program."""
    binary = Path(shutil.copy(program("put_write"), public_folder / "client"))
    report = public_folder / "report"
    assert run_setuid(binary, preload_env("fast", UNSTALL_REPORT=report))["loaded"] is False
    assert not report.exists()


@pytest.mark.parametrize("variables", [{"UNSTALL_MODE": "cork"}, {"UNSTALL_MODE": "fast"},
                                       {"UNSTALL_NODELAY": "always", "UNSTALL_VERBOSE": "2"}], ids=str)
def test_setuid_program_that_has_the_library_ignores_the_environment(variables, public_folder):
    """Even linked in (as by a bare name from a system folder), it reads no variable there."""
    library = Path(shutil.copy(LIB, public_folder / "libunstall.so"))
    linked = program("put_write", f"-Wl,--no-as-needed,-rpath,{public_folder}", library)
    binary = Path(shutil.copy(linked, public_folder / "client"))
    linked.unlink()
    report, log = public_folder / "report.json", public_folder / "log"
    facts = run_setuid(binary, bare_env(UNSTALL_REPORT=report, UNSTALL_LOG=log, **variables))
    assert facts["loaded"] is True and not report.exists() and not log.exists()


# ---- the report ------------------------------------------------------------

KEYS = {"unstall", "pid", "program", "mode", "connections", "writes", "reads", "messages", "turns", "bursts",
        "held_writes", "buffered_writes", "late_pushes", "pushes", "mispredictions", "untracked", "suspected",
        "segments", "bytes", "suspects", "stalls_proved", "stalls_suspected", "stalls_cured", "stall_ns",
        "stalls_bound", "stall_bound_ns", "peer_stalls", "peer_stall_ns", "quickacks", "quickack_saved_ns"}
CAUSES = {"wait", "read", "write", "close", "process", "window", "mode", "untracked", "application"}

ENDS = ("return", "exit", "_exit", "_Exit", "quick_exit", "exec", "thread", "abort")


def end(how, mode, **variables):
    with AnsweringPeer() as peer:
        done = run([program("ends"), *peer.target, 0, 0, how], mode_env(mode, **variables), check=False)
    assert bytes(peer.connections[0].received) == pattern(4 * 300)
    assert done.returncode == (-6 if how == "abort" else 7)
    assert done.stdout == "the program's own output\n"
    return done


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("mode", ["off", "observe", *CURING_MODES])
def test_report_at_every_end(how, mode, tmp_path):
    # a long window: one that ends within a turn, because the machine is busy, would count
    end(how, mode, UNSTALL_REPORT=report_pattern(tmp_path), UNSTALL_WINDOW_US="100000",
        UNSTALL_THREAD="always")
    (report,) = read_reports(tmp_path)
    assert set(report) == KEYS and set(report["pushes"]) == CAUSES
    assert report["program"] == program("ends").name
    assert report["mode"] == mode
    assert report["connections"] == 1
    assert report["bytes"] == 4 * 300
    assert report["messages"] == 4 and report["bursts"] == 4
    # The standard streams and the answers are no part of it: 2 writes a message.
    assert report["writes"] == 8
    assert (report["held_writes"] > 0) is (mode in ("cork", "auto"))
    assert (report["buffered_writes"] > 0) is (mode == "coalesce")
    assert (report["late_pushes"] > 0) is (mode in ("nodelay", "auto"))


def test_report_is_named_by_the_process(tmp_path):
    with AnsweringPeer() as peer:
        process = subprocess.Popen([str(word) for word in (program("put_write"), *peer.target, 3)],
                                   env=mode_env("auto", UNSTALL_REPORT=f"{tmp_path}/%p.json"),
                                   stdout=subprocess.PIPE)
        process.communicate(timeout=30)
    report = json.loads((tmp_path / f"{process.pid}.json").read_text(encoding="utf-8"))
    assert report["pid"] == process.pid and report["unstall"] == "0.1.0"


def test_report_of_each_process_of_a_family(tmp_path):
    run_with_peer("child_exchanges", "auto", 8, UNSTALL_REPORT=report_pattern(tmp_path))
    assert len(read_reports(tmp_path)) == 2


def test_off_counts_a_message_whose_answer_another_thread_reads(tmp_path):
    """Counted when its answer had been read, one write was the first of a message of two."""
    with AnsweringPeer() as peer:
        run_client(program("reader_thread", "-DONE_WRITE"), "off", *peer.target, 4000,
                   UNSTALL_REPORT=report_pattern(tmp_path))
    (report,) = read_reports(tmp_path)
    assert (report["writes"], report["messages"], report["bursts"]) == (4000, 4000, 0)


FULL_WHEN_FORKED = """
import os, socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.setblocking(False)
def fill():
    try:
        while True: s.send(b"x" * 65536)
    except BlockingIOError: pass
fill()
child = os.fork()
if child == 0: fill()
else: os.waitpid(child, 0)
"""


def test_a_write_that_a_forked_child_in_off_could_not_send_is_not_counted(tmp_path):
    """It was taken from counts that the fork's repair had just emptied, and 4294967295 writes were told."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        run(["/usr/bin/python3", "-S", "-c", FULL_WHEN_FORKED, *map(str, listener.getsockname())],
            preload_env("off", UNSTALL_REPORT=report_pattern(tmp_path)))
    for report in read_reports(tmp_path):
        assert report["writes"] < 1000 and report["bytes"] < 1e9


@pytest.mark.parametrize("mode", ["off", "auto"])
def test_report_as_text_on_stderr(mode):
    done = end("return", mode, UNSTALL_REPORT="stderr")
    lines = done.stderr.splitlines()
    assert lines[0] == "the program's own error"
    assert re.fullmatch(rf"unstall report: .*, process \d+, mode {mode}", lines[1])
    told = dict(re.fullmatch(r"  (\w+): (\d+) \(.+\)", line).groups() for line in lines[2:])
    assert told["connections"] == "1" and int(told["bursts"]) > 0
    assert "0" not in told.values()


def test_report_as_text_in_a_file(tmp_path):
    done = end("_exit", "cork", UNSTALL_REPORT=tmp_path / "report.txt")
    assert done.stderr == "the program's own error\n"
    assert "cork" in (tmp_path / "report.txt").read_text(encoding="utf-8")


def test_report_that_cannot_be_written_is_no_trouble():
    """One line that says so, and the report itself; the program's own exit code and output."""
    done = end("return", "auto", UNSTALL_REPORT="/does/not/exist/report.json")
    first, *ours = done.stderr.splitlines()
    assert first == "the program's own error"
    assert len(ours) == 2 and "UNSTALL_REPORT" in ours[0] and json.loads(ours[1])["writes"] > 0


@pytest.mark.parametrize("variables", [{"UNSTALL_MODE": "faster"}, {"UNSTALL_VERBOSE": "2"},
                                       {"UNSTALL_REPORT": "stderr"}], ids=str)
def test_a_stderr_that_nobody_reads_does_not_block(variables):
    """A full pipe: bare, the program writes nothing there."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for piece in (b"x" * 4096, b"x"):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, piece)
    os.set_blocking(writer, True)
    try:
        done = subprocess.run(["true"], env=preload_env(**variables), stderr=writer, check=False,
                              timeout=20)
    finally:
        os.close(reader)
        os.close(writer)
    assert done.returncode == 0


TALKS = {"UNSTALL_REPORT": "stderr", "UNSTALL_VERBOSE": "2", "UNSTALL_NOSUCH": "1"}


@pytest.mark.parametrize("mode", ["off", "auto"])
def test_a_program_in_the_background_is_not_stopped(mode):
    """The terminal has "stty tostop": our report was SIGTTOU for a program that itself prints nothing."""
    words = [f"{name}={value}" for name, value in preload_env(mode, **TALKS).items()]
    done = run([program("in_background"), "/usr/bin/env", *words, "/bin/true"], bare_env(), timeout=30)
    assert "ended 0" in done.stdout and "unstall report: true" in done.stdout


@contextlib.contextmanager
def connection_of(kind):
    """Two ends of a connection."""
    with contextlib.ExitStack() as stack:
        if kind == "tcp":
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            peer = stack.enter_context(socket.create_connection(listener.getsockname()))
            ours = stack.enter_context(listener.accept()[0])
        else:
            peer, ours = map(stack.enter_context, socket.socketpair())
        yield peer, ours


def received(peer):
    peer.settimeout(20)
    return b"".join(iter(lambda: peer.recv(4096), b""))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_the_peer_of_a_service_of_inetd_hears_nothing_of_us(kind, mode):
    """Descriptors 0, 1 and 2 are the connection: our warning stood before the answer."""
    with connection_of(kind) as (peer, ours):
        peer.sendall(b"hello\n")
        peer.shutdown(socket.SHUT_WR)
        subprocess.run(["cat"], env=preload_env(mode, **TALKS), stdin=ours, stdout=ours, stderr=ours,
                       check=True, timeout=20)
        ours.close()
        assert received(peer) == b"hello\n"


def test_the_journal_hears_us():
    """Of a service's descriptor 2 systemd says that it is the journal's."""
    with connection_of("unix") as (peer, ours):
        about = os.fstat(ours.fileno())
        for inode in (about.st_ino, about.st_ino + 1):
            subprocess.run(["true"], env=preload_env(JOURNAL_STREAM=f"{about.st_dev}:{inode}", **TALKS),
                           stderr=ours, check=True, timeout=20)
        ours.close()
        assert received(peer).count(b"UNSTALL_NOSUCH") == 1


def test_no_report_unless_asked():
    done = end("return", "auto")
    assert done.stderr == "the program's own error\n"


# ---- the log ---------------------------------------------------------------

def test_log_takes_the_warnings(tmp_path):
    """Behind one another, in a file of the user's alone."""
    log = tmp_path / "log"
    for name in ("UNSTALL_MODE", "UNSTALL_NODELAY"):
        done = run(["/bin/echo", "out"], preload_env(UNSTALL_LOG=log, **{name: "fast"}),
                   preexec_fn=lambda: os.umask(0))
        assert (done.stdout, done.stderr) == ("out\n", "")
    first, second = log.read_text(encoding="utf-8").splitlines()
    assert "UNSTALL_MODE" in first and "UNSTALL_NODELAY" in second
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("where", ["/does/not/exist/log", "/tmp"])
def test_a_log_that_cannot_be_is_stderr(where):
    done = run(["/bin/echo", "out"], preload_env(UNSTALL_LOG=where, UNSTALL_MODE="fast"))
    assert done.stdout == "out\n" and "UNSTALL_MODE=fast" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name, made", [("%p", "{0}"), ("%p-%p", "{0}-{0}"), ("%d%", "%d%"), ("%%p", "%{0}")])
def test_a_log_is_named_by_the_process(name, made, tmp_path):
    with subprocess.Popen(["/bin/true"], env=preload_env(UNSTALL_LOG=f"{tmp_path}/{name}",
                                                         UNSTALL_MODE="fast")) as program:
        assert program.wait(20) == 0
    assert [file.name for file in tmp_path.iterdir()] == [made.format(program.pid)]


def test_a_value_adds_no_line():
    done = run(["/bin/true"], preload_env(UNSTALL_MODE="a\nb\tc naïve ~"))
    assert done.stderr.startswith("unstall: UNSTALL_MODE=a?b?c naïve ~: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("variables", [{"UNSTALL_REPORT": "stderr"}, {"UNSTALL_MODE": "fast"}], ids=str)
@pytest.mark.parametrize("waits", [False, True])
def test_of_our_sigpipe_nothing_is_left_and_of_the_programs_all(waits, variables):
    """It ended the program.  One that the program has blocked and that was sent to it before is its own."""
    def before():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])
        signal.raise_signal(signal.SIGPIPE)

    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(["cat", "/proc/self/status"], env=preload_env(**variables), check=True,
                              stdout=subprocess.PIPE, stderr=writer, preexec_fn=before if waits else None,
                              timeout=20, text=True)
    finally:
        os.close(writer)
    for name in ("SigPnd", "SigBlk"):
        (mask,) = re.findall(rf"^{name}:\s*(\w+)$", done.stdout, re.MULTILINE)
        assert bool(int(mask, 16) & 1 << (signal.SIGPIPE - 1)) is waits, name
