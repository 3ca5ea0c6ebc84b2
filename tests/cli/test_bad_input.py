# SPDX-License-Identifier: MIT
"""Bad input: one clear line, the right exit code, nothing left behind.  A table of inputs and verbs."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from stats_files import STALLING, make_stats_file
from talkers import STALLER
from test_explain_capture import published
from test_top import Terminal

from harness import (AS_NOBODY, COMMAND, bare_env, command_of_everybody, need_root, run, second_thread, skip,
                     stats_directory, unstall)

NOBODY = "4194301"  # no process has such an id
FILES = ("report", "top", "metrics", "set", "explain")  # verbs that read a file
MORE = {"top": ["--once"], "set": ["off"]}  # beside the file


def spoken(words):
    """The name of a case."""
    return " ".join(words) if isinstance(words, list) else str(words)


def refused(done, code=125, names=""):
    """One line on stderr, which names the input, and no output."""
    assert (done.returncode, done.stdout) == (code, ""), done
    assert done.stderr.startswith("unstall") and done.stderr.count("\n") == 1, done.stderr
    assert names in done.stderr


def by_nobody(*words):
    """The command as a user without rights starts it."""
    with command_of_everybody() as command:
        return run([command, *words], bare_env(PATH="/usr/bin:/bin"), check=False, **AS_NOBODY)


@pytest.fixture(name="files", scope="module")
def one_of_each_kind(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    make_stats_file(folder / "good.unstall", STALLING)
    (folder / "good.pcap").write_bytes(published().pcap())
    (folder / "cut.unstall").write_bytes((folder / "good.unstall").read_bytes()[:3000])
    (folder / "cut.pcap").write_bytes((folder / "good.pcap").read_bytes()[:20])
    (folder / "empty").touch()
    (folder / "other").write_text("GIF89a, or a letter\n", encoding="ascii")
    return folder


@pytest.mark.parametrize("verb", ["run", "observe", "report", "metrics", "doctor", "explain", "set", "ab",
                                  "enable", "disable", "attach", "detach"])
def test_nothing(verb):
    refused(unstall(verb))


SECONDS = "or a time as 500ms, 30s, 5m or 2h\n"
FORMS = "choose one of them\n"
ADDRESS = "expected PORT, ADDRESS:PORT or [ADDRESS]:PORT, as in 127.0.0.1:9105\n"
NO_CGROUP = "no process runs in such a cgroup or unit; "
ENDED = ("no such process; if it has ended, give unstall report its statistics file or the folder of "
         "UNSTALL_STATS\n")
# a line -> how the complaint begins, or all of it
SENSELESS = {
    "scan --time 0": f"--time 0: expected seconds from 0.1 to 86400, {SECONDS}",
    "scan --time 5x": f"--time 5x: expected seconds from 0.1 to 86400, {SECONDS}",
    "scan --port 70000": "--port 70000: expected a whole number from 1 to 65535\n",
    "scan --source guessed": "--source guessed: expected exact or sampled\n",
    "scan --pid 4194304": "4194304: no such process; give the id of a running one\n",
    "scan --container no-such-container":
        "no-such-container: no such container runs; give its name or the beginning of its id\n",
    # a mistyped unit was "No stall was seen", with the exit code 0: a false all-clear
    "scan --cgroup ngnix.service --time 600": f"--cgroup ngnix.service: {NO_CGROUP}",
    "scan --cgroup /no/such/cgroup --time 600": f"--cgroup /no/such/cgroup: {NO_CGROUP}",
    "scan --unit ngnix --time 600": f"--unit ngnix.service: {NO_CGROUP}",
    "scan --unit a/b --time 600": "a/b: is no name of a unit; ",
    "scan --json --watch": f"--json and --watch: {FORMS}",
    "scan --html x --json": f"--html and --json: {FORMS}",
    "scan --html /no/such/page.html": "--html /no/such/page.html: No such file or directory\n",
    "scan here": "here: scan takes options only; try --help\n",
    "top --once /no/such/folder": "/no/such/folder: No such file or directory; expected a statistics file",
    "top --interval 0 /": f"--interval 0: expected seconds from 0.1 to 3600, {SECONDS}",
    "top --interval x /": f"--interval x: expected seconds from 0.1 to 3600, {SECONDS}",
    "top a b": "b: one PID, DIR or SERVICE at a time; try --help\n",
    "top /tmp": "stdin and stdout must be a terminal; --once needs none\n",
    "observe --mode auto true": "--mode auto: observe changes nothing; see unstall run --mode\n",
    "observe --stats /x true": "--stats /x: observe keeps its own statistics while it runs; see unstall run",
    "observe --time 0 true": f"--time 0: expected seconds from 0.1 to 1000000, {SECONDS}",
    "observe --report /x --html /y -- true": f"--report and --html: {FORMS}",
    "observe --report /x --html /y 1": f"--report and --html: {FORMS}",
    "observe --html x --json -- true": f"--json and --html: {FORMS}",
    # it and ab would compare other settings than the caller asked for
    "observe --conf /x -- true": "--conf: no such option; try --help\n",
    "observe 1 2": "2: one PID at a time; a program goes behind --\n",
    "observe 4194304": f"4194304: {ENDED}",
    "observe": "no PROGRAM or PID given; try --help\n",
    "metrics --host": "--host: its counters grow while it runs; give --listen [ADDRESS:]PORT\n",
    "metrics --host --listen 0 /tmp": f"--host and /tmp: {FORMS}",
    "metrics --host --listen 0 --source best": "--source best: expected exact or sampled\n",
    "metrics --source exact /tmp": "--source: only with --host\n",
    "metrics --host --listen here": f"--listen here: {ADDRESS}",
    **{f"metrics --listen {where} /tmp": f"--listen {where}: {ADDRESS}" for where in (
        "x", "70000", "localhost:80", "1.2.3.4.5:80", "::1:80", "127.0.0.1:", ":80", "[::1]")},
    "report 999999999": f"999999999: {ENDED}",
    "report --json --html x .": f"--json and --html: {FORMS}",
    "explain --json --ladder x": f"--json, --html and --ladder: {FORMS}",
    "doctor no-such-program": "no-such-program: no such program; give its path, or check $PATH\n",
    "doctor /etc/passwd": "/etc/passwd: cannot be run: Permission denied\n",
    "doctor 999999999": "999999999: no such process; give the id of a running one, or a program\n",
    "doctor": "no PROGRAM or PID given; try --help\n",
    "doctor a b": "b: one PROGRAM or PID at a time; try --help\n",
    "set": "no PID, FILE, DIR or SERVICE given; try --help\n",
    "set off": "no PID, FILE, DIR or SERVICE given; try --help\n",
    "set 1 nodelya": "nodelya: no such mode, process, file or service with --stats; a mode is off, observe, "
                     "nodelay, cork, coalesce, auto or started\n",
    "set 1 off auto": "auto: one mode at a time; try --help\n",
    "set 1 --window 10": "--window 10: expected started, or microseconds, a whole number from 500 to 100000, "
                         "or a time as 2ms\n",
    "set 1 --wait 1x": f"--wait 1x: expected seconds from 0.1 to 600, {SECONDS}",
    "set 1 --wait -1 off": "--wait -1: expected a whole number from 0 to 600000\n",
    "set 1 --arms off": "--arms off: expected modes with weights, as in off:50,auto:50, or none\n",
    "set 1 --arms off:1 --assign me": "--assign me: expected connection, peer or listener\n",
    "set 1 --seed 7 off": "--assign and --seed: need --arms; try --help\n",
    "set 999999999 off": f"999999999: {ENDED}",
    # it did the latter alone
    "set 1 --kill --unkill": f"--kill and --unkill: {FORMS}",
}
CODES = {"doctor no-such-program": 127, "doctor /etc/passwd": 126}


@pytest.mark.parametrize("line", SENSELESS)
def test_what_makes_no_sense(line, tmp_path):
    done = unstall(*line.split(), cwd=tmp_path)
    refused(done, CODES.get(line, 125))
    assert done.stderr.startswith(f"unstall {line.split()[0]}: {SENSELESS[line]}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words, code", [
    (["run"], 127), (["observe"], 127), (["doctor"], 127), (["ab"], 127), (["report"], 125),
    (["top", "--once"], 125), (["metrics"], 125), (["explain"], 125), (["set"], 125), (["attach"], 125),
    (["detach"], 125), (["disable"], 125), (["scan", "--unit"], 125), (["scan", "--cgroup"], 125),
    (["scan", "--container"], 125), (["attach", "--container"], 125), (["attach", "--cgroup"], 125),
], ids=spoken)
def test_a_name_that_matches_nothing(words, code):
    """Whoever may do nothing here hears of the name, too, and not only that root might."""
    refused(unstall(*words, "no-such-thing"), code, "no-such-thing")
    if os.geteuid() == 0 and words != ["ab"]:  # whose parts stay in the folder of the build
        refused(by_nobody(*words, "no-such-thing"), code, "no-such-thing")


@pytest.mark.parametrize("words", [
    ["run"], ["observe", "--time", "1"], ["doctor"], ["ab"], ["report"], ["metrics"], ["set"], ["status"],
    ["attach"], *([*verb, option] for verb in (["scan", "--time", "1"], ["attach", "--port", "1"], ["detach"])
                  for option in ("--unit", "--cgroup", "--container"))], ids=spoken)
def test_an_empty_name_is_not_all(words):
    """Of a variable that is not set: `attach --cgroup ""` cured the whole host, `observe ""` watched it."""
    done = unstall(*words, "", timeout=30)
    assert done.returncode in (125, 126, 127) and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("words", [["observe"], ["report"], ["top", "--once"], ["doctor"], ["set"],
                                   ["attach"], ["detach"], ["scan", "--pid"], ["ab", "--live"]], ids=spoken)
def test_a_number_that_is_no_process(words):
    refused(unstall(*words, NOBODY), names=NOBODY)


@pytest.fixture(name="no_program", params=["kernel thread", "zombie"])
def a_process_that_runs_no_program(request):
    if request.param == "kernel thread":
        if Path("/proc/2/comm").read_text("ascii") != "kthreadd\n":
            skip("the kernel's threads are out of sight here")
        yield 2
        return
    zombie = os.fork()
    if zombie == 0:
        os._exit(0)
    os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)
    yield zombie
    os.waitpid(zombie, 0)


@pytest.mark.parametrize("words", [["observe"], ["report"], ["top", "--once"], ["doctor"], ["set"],
                                   ["metrics"], ["attach"], ["scan", "--pid"]], ids=spoken)
def test_a_process_that_runs_no_program(words, no_program):
    """`attach` waited for a kernel thread and cured nothing with rc 0, `scan --pid` of a zombie told to load
    a module of the kernel, and others said that there is no such process."""
    refused(unstall(*words, no_program), names=f"{no_program}: runs no program: it is a kernel thread, or")


@pytest.mark.parametrize("words", [["observe"], ["doctor"], ["attach"], ["scan", "--pid"]], ids=spoken)
def test_a_thread_is_no_process(words):
    """`doctor` advised to attach to it, which `attach` refused."""
    with second_thread() as thread:
        refused(unstall(*words, thread),
                names=f"{thread}: is a thread of process {os.getpid()}; give the id of the process")


@pytest.mark.parametrize("words", [
    ["doctor", "1"], ["observe", "1"], ["attach", "1"], ["attach", "--all"], ["set", "1", "off"],
    ["report", "1"], ["top", "--once", "1"], ["scan", "--pid", "1", "--source", "sampled"],
    ["report", "/root/x"], ["explain", "/root/x"], ["observe", "--report", "/root/x", "true"],
    ["scan", "--html", "/root/x"]], ids=spoken)
def test_no_rights(words):
    """`scan --pid 1` said "sockets cannot be listed (sock_diag): Permission denied"."""
    need_root("may become another user")
    done = by_nobody(*words)
    refused(done)
    assert "sock_diag" not in done.stderr
    assert "expected a statistics file" not in done.stderr  # which it may be


@pytest.mark.parametrize("words, begin", [(["detach", "pid-4711"], "unstall detach: pid-4711"),
                                          (["attach", "--list"], "unstall attach")], ids=str)
def test_no_rights_to_see_what_is_attached(words, begin):
    """The name was said to be none that `attach --list` shows, which said "Permission denied" alone."""
    need_root("may become another user, and mount")
    script = ('mount -t bpf none /sys/fs/bpf && mkdir -m 700 /sys/fs/bpf/unstall && '
              'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"')
    with command_of_everybody() as command:
        done = run(["unshare", "-m", "sh", "-c", script, "sh", command, *words], bare_env(), check=False,
                   timeout=60)
    assert (done.returncode, done.stderr) == (
        125, f"{begin}: /sys/fs/bpf/unstall: Permission denied; run this as root\n")


def test_an_engine_of_containers_that_hangs_is_named(tmp_path):
    """The scan hung as long as it did."""
    (tmp_path / "podman").write_text("#!/bin/sh\nexec sleep 100\n", "ascii")
    (tmp_path / "podman").chmod(0o755)
    done = unstall("scan", "--container", "no-such-thing", timeout=60,
                   env=bare_env(PATH=f"{tmp_path}:{os.environ['PATH']}"))
    refused(done, names="no-such-thing: podman inspect: no answer within 10 s; give the beginning of its id")


@pytest.mark.parametrize("words", [["doctor"], ["scan", "--source", "sampled", "--pid"]], ids=spoken)
def test_root_without_its_rights_is_not_sent_to_root(words):
    """It was told to run this as root, as in a container that has not CAP_SYS_PTRACE."""
    need_root("can give rights up")
    done = run(["setpriv", "--bounding-set=-sys_ptrace", "--", COMMAND, *words, os.getpid()], bare_env(),
               check=False)
    refused(done, names="this needs CAP_SYS_PTRACE, which this root lacks")


def test_without_systemd_no_unit_is_said_to_be_enabled_by_a_command():
    """`status nginx` said "unstall enable nginx.service writes one", which refuses it there."""
    if Path("/run/systemd/system").exists():
        skip("systemd runs here")
    done = unstall("status", "no-such-unit")
    assert done.returncode == 1 and "enable" not in done.stdout


@pytest.mark.parametrize("words", [["status"], ["status", "--json"], ["enable"], ["disable"],
                                   ["scan", "--unit"], ["attach", "--unit"], ["detach", "--unit"],
                                   ["ab", "--live", "--unit"]], ids=spoken)
def test_where_a_unit_is_wanted_a_process_is_sent_to_doctor(words):
    """`status 4711` told of a unit 4711.service, which has no drop-in, and `attach --unit 4711` that it does
    not run."""
    refused(unstall(*words, "4711"), names="4711: is no name of a unit; of a process: unstall doctor 4711\n")


@pytest.mark.parametrize("kind", ["other", "empty", "cut"])
@pytest.mark.parametrize("verb", FILES)
def test_a_file_of_another_kind_an_empty_and_a_cut_one(files, verb, kind):
    path = files / ({"cut": "cut.pcap" if verb == "explain" else "cut.unstall"}.get(kind, kind))
    before = path.read_bytes()
    refused(unstall(verb, path, *MORE.get(verb, [])), names=str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["other", "empty"])
def test_a_program_that_is_none(files, kind):
    path = files / kind
    path.chmod(0o644)
    for verb in ("run", "observe", "doctor"):
        refused(unstall(verb, path), 126, str(path))


OUTPUTS = [["report", "good.unstall"], ["report", "--json", "good.unstall"],
           ["report", "--html", "-", "good.unstall"], ["metrics", "."], ["explain", "good.pcap"],
           ["explain", "--json", "good.pcap"], ["explain", "--ladder", "good.pcap"],
           ["explain", "--html", "-", "good.pcap"], ["doctor", "/bin/ls"], ["doctor", "--json", "/bin/ls"],
           ["scan", "--time", "0.1"], ["scan", "--json", "--time", "0.1"],
           ["status"], ["status", "--json"], ["top", "--once", "--interval", "0.1", "."], ["--help"],
           ["scan", "--help"], ["--version"]]


@pytest.mark.parametrize("closed", [False, True], ids=["full", "closed"])
@pytest.mark.parametrize("words", OUTPUTS, ids=spoken)
def test_a_full_disk_and_a_closed_output(files, words, closed):
    """A scan without standard output wrote its report into a socket of its own: "Invalid argument"."""
    redirect = ">&-" if closed else ">/dev/full"
    done = run(["sh", "-c", f'exec "$@" {redirect}', "sh", COMMAND, *words], bare_env(), check=False,
               cwd=files)
    refused(done)
    assert done.stderr.endswith("standard output: Bad file descriptor\n" if closed else
                                "standard output: No space left on device\n")


def test_a_program_finds_its_output_closed_as_without_us():
    script = "test -e /proc/self/fd/1 && exit 7; exit 8"
    done = run(["sh", "-c", 'exec "$@" >&-', "sh", COMMAND, "run", "--", "sh", "-c", script], bare_env(),
               check=False)
    assert done.returncode == 8, done.stderr


@pytest.mark.parametrize("words", [["report", "good.unstall"], ["explain", "good.pcap"],
                                   ["doctor", "/bin/ls"], ["scan", "--time", "0.2"],
                                   ["top", "--once", "--interval", "0.1", "."]], ids=spoken)
def test_a_terminal_of_40_columns(files, words):
    words = [str(files / word) if (files / word).exists() else word for word in words]
    with Terminal(COMMAND, *words, columns=40, lines=60) as terminal:
        terminal.wait_for("^ended with [012]$", 30)


@pytest.mark.parametrize("words", [
    ["scan", "--time", "60"], ["scan", "--watch"], ["observe", "--", "sleep", "60"],
    ["observe", "--html", "page.html", "--", "sleep", "60"], ["metrics", "--listen", "0", "."],
    ["ab", "--rounds", "50", "--json", "results.json", "--", "sleep", "0.2"]], ids=spoken)
def test_ctrl_c_in_the_midst(files, words):
    with stats_directory() as runtime:
        before = set(files.iterdir())
        with subprocess.Popen([COMMAND, *words], cwd=files, env=bare_env(XDG_RUNTIME_DIR=runtime),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, start_new_session=True) as process:
            time.sleep(2)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert process.returncode in (0, 1, 2, 130, -signal.SIGINT), out + err
        assert "Traceback" not in err
        assert not [*Path(runtime).iterdir(), *Path("/dev/shm").glob(f"unstall-ab.{process.pid}.*")]
        assert {path.suffix for path in set(files.iterdir()) - before} <= {".json"}  # ab keeps what it has


@pytest.mark.parametrize("words", [[], ["--json"], ["--html", "-"]], ids=spoken)
def test_a_reader_that_leaves_before_the_report_leaves_no_statistics(peer, words):
    """`observe -- PROGRAM 2>&1 | head -1` was ended by SIGPIPE, and its folder in memory stayed."""
    with stats_directory() as runtime:
        script = '{ "$@" 2>&1; echo "$?" >"$0/code"; } | true'
        quiet = ["sh", "-c", 'exec "$@" >/dev/null', "sh"]
        talker = [*quiet, "/usr/bin/python3", STALLER, *map(str, peer.target), "3"]
        run(["sh", "-c", script, runtime, COMMAND, "observe", *words, "--", *talker],
            bare_env(XDG_RUNTIME_DIR=runtime), stdin=subprocess.DEVNULL, timeout=60)
        assert (runtime / "code").read_text("ascii") == "0\n"
        assert [path.name for path in runtime.iterdir()] == ["code"]
