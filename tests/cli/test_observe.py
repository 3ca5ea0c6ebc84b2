# SPDX-License-Identifier: MIT
"""unstall observe: the program as it is, its exit code, and a report that nothing is left of."""

import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from test_scan import scan_until_told

from harness import (AS_NOBODY, COMMAND, VERDICT_CODES, AnsweringPeer, bare_env, command_of_everybody,
                     compile_c, need_root, patiently, preload_env, program, run, spawned, unstall, wait_for,
                     wait_for_stats_file)
from stats_files import PROGRAMS
from talkers import STALLER, staller

pytestmark = pytest.mark.usefixtures("runtime")
FOLDER = Path(f"/dev/shm/unstall-{os.geteuid()}")


@pytest.fixture(name="authors")
def compiled():
    return compile_c(PROGRAMS / "two_authors.c")


def test_a_program_is_run_and_told_about(peer, authors):
    done = unstall("observe", "--", authors, *peer.target, "10")
    assert (done.returncode, done.stdout) == (0, "done\n")
    text = " ".join(done.stderr.split())
    assert re.search(rf"{authors.name} \(pid \d+\) loses \d+(\.\d+)? ms in \d+ of 10 exchanges", text)
    assert "send_header" in text and "send_body" in text
    assert f"Next: unstall run --mode auto -- {authors} 127.0.0.1 {peer.port} 10" in text


def test_the_report_can_go_to_a_file(peer, authors, tmp_path):
    done = unstall("observe", "--json", "--report", tmp_path / "told", authors, *peer.target, "10")
    assert (done.stdout, done.stderr) == ("done\n", "")
    told = json.loads((tmp_path / "told").read_text(encoding="utf-8"))
    assert told["processes"][0]["mode"] == "observe"
    row = next(row for row in told["rows"] if row["role"] == "destination")
    assert row["exchanges"] == 10 and 5 <= row["stalls_proved"] <= 10


def test_json_has_standard_output_to_itself(peer, authors):
    """It went to standard error, between what the program wrote there, so that nothing could read it."""
    for words in ["--json"], ["--json", "--report", "-"]:
        done = unstall("observe", *words, "--", authors, *peer.target, "10")
        assert json.loads(done.stdout)["verdict"]["kind"] == "stalls"
        assert (done.returncode, done.stderr) == (0, "done\n")
    page = unstall("observe", "--html", "-", "--", authors, *peer.target, "10")
    assert page.stdout.startswith("<!DOCTYPE html>") and page.stderr == "done\n"
    with open("/dev/full", "w", encoding="utf-8") as full:
        lost = subprocess.run([COMMAND, "observe", "--json", "--", authors, *peer.target, "10"], check=False,
                              env=bare_env(), stdout=full, stderr=subprocess.PIPE, text=True)
        failed = subprocess.run([COMMAND, "observe", "--json", "--", "sh", "-c", "exit 3"], stdout=full,
                                env=bare_env(), stderr=subprocess.DEVNULL, check=False)
    assert lost.stderr == "done\nunstall observe: standard output: No space left on device\n"
    assert (lost.returncode, failed.returncode) == (125, 3)  # it was 0: the report was nowhere


def test_the_report_appears_whole(peer, authors, tmp_path):
    """It was written in place: a reader of the earlier one saw it cut and filled again.  And where it could
    not be written, that was told after the program had run."""
    told, link = tmp_path / "told", tmp_path / "link"
    told.write_text("the earlier report", encoding="utf-8")
    link.symlink_to(told)
    with open(told, encoding="utf-8") as earlier:
        done = unstall("observe", "--report", link, authors, *peer.target, "10")
        assert done.returncode == 0 and earlier.read() == "the earlier report"
    assert link.is_symlink() and "of 10 exchanges" in told.read_text(encoding="utf-8").replace("\n", " ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "told"]
    done = unstall("observe", "--report", tmp_path / "none" / "told", authors)
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr == f"unstall observe: --report {tmp_path}/none/told: No such file or directory\n"


# QTBUG-119614 in short: slow before it connects.
SLOW_START = """
import socket, sys, time
time.sleep(0.2)
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as sock:
    for _ in range(5):
        sock.sendall(b"x" * 300)
        sock.recv(1000)
"""


def test_time_before_the_first_write_is_told():
    def attempt():
        with AnsweringPeer() as peer:
            done = unstall("observe", "--", "/usr/bin/python3", "-c", SLOW_START, peer.port)
        text = " ".join(done.stderr.split())
        found = re.search(r"Not the network: ([\d.]+) (m?s) in the application before its first write, "
                          r"([\d.]+) (m?s) of it before it connected\.", text)
        assert found, text
        before, connected = [float(found[at]) * (1 if found[at + 1] == "ms" else 1000) for at in (1, 3)]
        assert 200 <= connected <= before, text
        ran = re.search(r"ended after ([\d.]+) (m?s)", text)  # it began later: at the first call on a socket
        assert before <= float(ran[1]) * (1 if ran[2] == "ms" else 1000), text
        assert "No stall in 4 exchanges" in text
    patiently(attempt)  # a busy machine may stop it between connect and write: then more is said


@pytest.mark.parametrize("code", [0, 3, 125])
def test_the_exit_code_is_the_programs(code):
    done = unstall("observe", "sh", "-c", f"exit {code}")
    assert done.returncode == code
    assert done.stderr.startswith("Cannot tell: no TCP connection of the program, or of one that it started,")


@pytest.mark.parametrize("how", ["static", "without LD_PRELOAD"])
def test_what_is_out_of_sight_is_not_said_to_have_no_connection(peer, how):
    """It said "made no TCP connection" of a shell whose static client stalled twenty times, and --json gave
    nothing at all."""
    words = [compile_c(PROGRAMS / "two_authors.c", "-static")] if how == "static" else \
        ["env", "-u", "LD_PRELOAD", program("put_write")]
    done = unstall("observe", "--json", "sh", "-c", '"$@"; true', "sh", *words, *peer.target, "5")
    verdict = json.loads(done.stdout)["verdict"]
    assert verdict["kind"] == "cannot-tell" and "Out of sight are static programs" in verdict["because"]


def test_of_a_program_that_gave_up_root_it_does_not_say_that_there_was_no_connection(peer):
    """It said "made no TCP connection", while the library could not open the statistics."""
    need_root("can give up root")
    done = unstall("observe", "setpriv", "--reuid", "65534", "--clear-groups", program("put_write"),
                   *peer.target, "5")
    assert done.returncode == 0, done.stderr
    assert "those that have changed their user" in " ".join(done.stderr.split())


def test_of_a_program_that_is_not_there_nothing_is_left():
    done = unstall("observe", "no-such-program")
    assert done.returncode == 127


def test_several_processes_of_a_program_are_merged_and_listed(peer, authors):
    words = f"{authors} {peer.address} {peer.port} 6 & {authors} {peer.address} {peer.port} 6; wait"
    done = unstall("observe", "--", "sh", "-c", words, check=True)
    text = " ".join(done.stderr.split())
    assert len(re.findall(rf"{authors.name} \(pid \d+\), mode observe, ended", text)) == 2
    assert re.search(rf"{authors.name} \(2 processes\) loses \d+(\.\d+)? ms in \d+ of 12 exchanges", text)


def test_after_the_time_the_program_is_asked_to_end(peer, authors):
    words = f"{authors} {peer.address} {peer.port} 5; exec sleep 30"
    done = unstall("observe", "--time", "4", "sh", "-c", words)
    assert "loses" in done.stderr


def test_an_end_by_the_time_is_no_kill(peer):
    """The report called it killed, and the exit code 143 stopped a script with set -e."""
    done = unstall("observe", "--time", "2", "/usr/bin/python3", STALLER, *peer.target)
    assert done.returncode == 0
    assert re.match(r"python3[.\d]* \(pid \d+\), mode observe, ended after (1\.[5-9]|[2-9])", done.stderr)
    done = unstall("observe", "--time", "1", "sh", "-c", "trap 'exit 3' TERM; sleep 5 & wait")
    assert done.returncode == 3, "its own answer to the signal"


@pytest.mark.parametrize("call", ["mkdtemp", "fork"])
def test_a_signal_while_the_program_is_started_ends_it_too_and_leaves_no_folder(call):
    shim = compile_c(PROGRAMS / "told_at.c", "-shared", "-fPIC")
    for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT:
        env = bare_env(LD_PRELOAD=shim, CALL=call, SIGNAL=int(number))
        done = unstall("observe", "sleep", "30", env=env,  # nohup(1) ignores SIGHUP: the default is set first
                       preexec_fn=lambda number=number: signal.signal(number, signal.SIG_DFL))
        assert done.returncode == 128 + number


def test_the_program_gets_no_other_mask_of_signals():
    words = ["grep", "SigBlk", "/proc/self/status"]
    bare = run(words, env=bare_env()).stdout
    assert unstall("observe", *words).stdout == bare


def test_the_program_ignores_the_signals_of_the_caller_and_its_end_is_seen():
    """SIGCHLD among them: the kernel would keep no exit code for observe."""
    def caller():
        for number in signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT:
            signal.signal(number, signal.SIG_IGN)
    words = ["grep", "SigIgn", "/proc/self/status", "/dev/none"]
    bare = run(words, env=bare_env(), preexec_fn=caller, check=False)
    done = unstall("observe", *words, preexec_fn=caller)
    assert bare.returncode == 2 and "SigIgn" in bare.stdout
    assert (done.returncode, done.stdout) == (bare.returncode, bare.stdout)


def test_processes_that_stay_behind_are_told(peer):
    script = f"""
import os, socket, sys, time
answered, answer = os.pipe()
if os.fork():
    os.close(answer)
    os.read(answered, 1)
    os._exit(4)
for pipe in 1, 2:  # who reads what observe says waits for their ends
    os.dup2(os.open("/dev/null", os.O_RDWR), pipe)
s = socket.create_connection(("{peer.address}", {peer.port}))
s.send(b"a" * 300)
s.recv(200)
os.close(answer)
s.settimeout(15)
try:
    s.recv(1)  # until the peer goes
except OSError:
    pass
"""
    done = unstall("observe", "/usr/bin/python3", "-c", script)
    peer.connections[0].socket.shutdown(socket.SHUT_RDWR)
    assert done.returncode == 4
    assert ("1 of its processes still runs and is no longer observed; "
            "start a daemon in the foreground") in done.stderr


def test_of_a_process_that_stays_behind_nothing_is_advised_that_needs_its_statistics(peer, tmp_path):
    """It was `set`, though the statistics are removed.  And --who told of "the program", not which one."""
    report = tmp_path / "report.txt"
    script = 'exec 3<&0; "$@" <&3 >/dev/null 2>&1 & sleep 2'
    words = [COMMAND, "observe", "--who", "--report", report, "sh", "-c", script, "sh", "/usr/bin/python3",
             STALLER, *peer.target, "8"]
    with spawned(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert "1 of its processes still runs" in process.stderr.read()
    text = " ".join(report.read_text(encoding="utf-8").split())
    assert "Next: unstall run" in text and "as it runs" not in text
    assert re.search(r"No line is known: process \d+ \((dash|sh)\) is not one of Python, Java", text)


def test_a_runtime_folder_that_is_not_in_memory_is_not_used(peer, authors):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        done = unstall("observe", "sh", "-c", 'echo "$UNSTALL_STATS"; exec "$0" "$@"', authors, *peer.target,
                       "5", env=bare_env(XDG_RUNTIME_DIR=folder), check=True)
        assert "loses" in done.stderr
        assert os.listdir(folder) == []
    used = Path(done.stdout.splitlines()[0])
    assert used.match(f"{FOLDER}/unstall-observe-*") and not used.exists()


def test_the_shared_folder_may_go_while_another_observe_ends(peer, authors):
    """The last one that ends removes it, also between our making it and our use of it."""
    done = run(["strace", "-o", "/dev/null", "-e", "inject=mkdir,mkdirat:error=ENOENT:when=2",
                COMMAND, "observe", "--", authors, *peer.target, "5"], bare_env())
    assert "loses" in done.stderr


def test_a_running_process_is_watched_for_what_comes(process):
    done = unstall("observe", str(process.pid), "--time", "2", "--json", check=True)
    whole = json.loads(unstall("report", "--json", str(process.pid), check=True).stdout)
    told = json.loads(done.stdout)

    def seen(report, name):
        return next(row for row in report["rows"] if row["role"] == "destination")[name]

    assert 5 < seen(told, "exchanges") < seen(whole, "exchanges")
    assert seen(told, "connections") == 0 and seen(whole, "connections") == 1
    assert seen(told, "stalls_proved") <= seen(told, "exchanges") + 1
    counted = sum(count for _, count in seen(told, "exchange")["buckets"])
    assert abs(counted - seen(told, "exchanges")) <= 2  # each look may come between a counter and its bucket


def test_the_time_watched_is_told_beside_the_time_that_the_process_runs(peer, folder):
    """Of a process that was idle it said that no connection has carried bytes, in all its life."""
    with staller(folder, peer, 3) as process:
        said = unstall("observe", str(process.pid), "--time", "300ms", check=True).stderr
    assert re.search(r"mode observe, running for .*, watched for [\d.]+ m?s$", said, re.M)
    assert re.search(r"no TCP connection of python3\S* \(pid \d+\) has carried bytes in the time watched, "
                     r"[\d.]+ m?s; processes that it starts", " ".join(said.split()))


def ended_by(end, watcher, process):
    """What the watcher says at its end, by the user or with the process; it has told of stalls."""
    if end == "user":
        watcher.send_signal(signal.SIGINT)
    else:
        process.kill()
        process.wait()
    _, told = watcher.communicate(timeout=20)
    assert watcher.returncode == 1, told
    return told


def test_watching_ends_with_the_user_or_the_process(process):
    for end in ("user", "process"):
        watcher = subprocess.Popen([COMMAND, "observe", str(process.pid)], env=bare_env(), text=True,
                                   stderr=subprocess.PIPE)
        assert watcher.stderr.readline().endswith("Ctrl-C ends this and prints the report\n")
        wait_for_exchanges(process)
        told = ended_by(end, watcher, process)
        assert "loses" in told
        assert ("killed" if end == "process" else "running for") in told


def test_a_running_process_without_statistics_is_watched_through_the_kernel(peer, authors, tmp_path):
    process = subprocess.Popen([authors, *peer.target, "1000"], env=bare_env())
    def attempt():
        done = unstall("observe", str(process.pid), "--time", "1", "--report", tmp_path / "report",
                       check=True)
        as_json = unstall("observe", str(process.pid), "--time", "1", "--json", check=True).stdout
        told = (tmp_path / "report").read_text(encoding="utf-8")
        assert done.stderr == (f"unstall observe: process {process.pid} keeps no statistics: it is "
                               "watched through the kernel\n")
        report = json.loads(as_json)
        assert (report["format"], report["scope"]) == ("unstall-scan", f"process {process.pid}")
        assert report["rows"] and report["rows"][0]["stalls"] > 0
        assert re.search(r"^(About )?\d+ stalls of \d+(\.\d)? ms cost \d", told, re.MULTILINE)
        if "source exact" in told:
            assert re.search(r"send_header.*send_body", told, re.DOTALL)
        page = unstall("observe", str(process.pid), "--time", "1", "--html", "-")
        assert page.returncode == 1 and page.stdout.startswith("<!DOCTYPE html>")
        assert f"process {process.pid}" in page.stdout

    try:
        patiently(attempt)  # on a busy machine a second may pass without a stall
    finally:
        process.kill()
        process.wait()


def test_without_privilege_an_own_process_is_watched_by_samples(peer, authors):
    need_root("may become another user")
    with command_of_everybody() as command:
        program = shutil.copy(authors, command.parent)
        with spawned([program, *peer.target, "1000"], **AS_NOBODY) as process:
            done = scan_until_told(
                lambda seconds: run([command, "observe", process.pid, "--time", seconds], bare_env(),
                                    check=False, **AS_NOBODY),
                lambda done: "stalls of" in done.stderr)
    lost = r"About \d+ stalls of \d+(\.\d)? ms cost \d"
    assert re.search(lost, done.stderr)
    assert "source sampled" in done.stderr and f"({process.pid})" in done.stderr


def test_lines_that_the_json_has_no_place_for_are_not_asked_for(peer, authors):
    """Once the process was stopped for them, and they were left out without a word."""
    with spawned([authors, *peer.target, "100"]) as process:
        done = unstall("observe", "--who", "--json", "--time", "1", str(process.pid))
    assert (done.returncode, done.stderr) == (
        125, f"unstall observe: --who: process {process.pid} keeps no statistics, and the JSON of a scan has "
        "no place for lines; leave out --json\n")


@pytest.mark.parametrize("end", ["user", "process"])
def test_the_watching_through_the_kernel_ends_with_the_user_or_the_process(peer, authors, end):
    process = subprocess.Popen([authors, *peer.target, "1000"], env=bare_env())
    watcher = subprocess.Popen([COMMAND, "observe", str(process.pid)], env=bare_env(), text=True,
                               stderr=subprocess.PIPE)
    try:
        assert watcher.stderr.readline().endswith("Ctrl-C ends this and prints the report\n")
        time.sleep(0.6)  # some exchanges, perhaps
        assert f"Scanned process {process.pid} for" in ended_by(end, watcher, process)
    finally:
        for child in (process, watcher):
            child.kill()
            child.wait()


def wait_for_exchanges(process):
    """So many that some of them stall."""
    def made():
        told = json.loads(unstall("report", "--json", process.pid, check=True).stdout)
        return next(row["exchanges"] for row in told["rows"] if row["role"] == "destination")

    due = made() + 10
    wait_for(lambda: made() >= due)


@pytest.mark.parametrize("statistics", [True, False])
def test_an_interrupt_as_soon_as_it_is_offered_ends_the_watching(peer, folder, statistics):
    """It came before its handler, and there was no report.  strace(1) sends it at the write of the offer."""
    with staller(folder, peer, **({} if statistics else {"env": bare_env()})) as process:
        done = run(["strace", "-o", "/dev/null", "-e", "inject=write:signal=SIGINT:when=1", COMMAND,
                    "observe", process.pid], bare_env(), check=False)
    assert done.returncode in VERDICT_CODES.values()
    assert "Ctrl-C ends this and prints the report\n" in done.stderr
    assert re.search("running for" if statistics else f"Scanned process {process.pid} for", done.stderr)


def test_a_time_may_have_a_unit():
    begun = time.monotonic()
    done = unstall("observe", "--time", "300ms", "--", "sleep", "60")
    assert done.returncode == 0 and 0.3 <= time.monotonic() - begun < 30


def test_the_report_as_a_page(peer, authors, tmp_path):
    done = unstall("observe", "--html", tmp_path / "page.html", "--", authors, *peer.target, "10")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert "<svg" in page and "send_header" in page and f"{authors.name}" in page


def test_the_next_command_can_be_copied_whatever_the_program_is_called(peer, authors, tmp_path):
    """Once it had question marks in place of such letters."""
    odd = tmp_path / "caf\u00e9 'q' \\ \x01"
    odd.symlink_to(authors)
    done = unstall("observe", "--html", tmp_path / "page.html", "--", odd, *peer.target, "10", check=True)
    page = (tmp_path / "page.html").read_text("utf-8")
    command = html.unescape(re.search("<code>(.*?)</code>", page).group(1))
    assert done.stderr == "" and command.isascii()
    words = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], check=True, capture_output=True,
                           timeout=20).stdout.decode().split("\0")
    assert words[:6] == ["unstall", "run", "--mode", "auto", "--", str(odd)]


def test_a_page_that_cannot_be_written_is_said_before_the_program_runs(tmp_path):
    done = unstall("observe", "--html", tmp_path / "none" / "page.html", "--", "touch", tmp_path / "ran")
    assert (done.returncode, done.stderr) == (
        125, f"unstall observe: --html {tmp_path}/none/page.html: No such file or directory\n")
    assert not list(tmp_path.iterdir())


def test_a_running_process_as_a_page(peer, folder, authors, tmp_path):
    with spawned([authors, *peer.target, "1000"], preload_env("observe", UNSTALL_STATS=folder),
                 stdout=subprocess.DEVNULL) as process:
        wait_for_stats_file(folder)
        done = unstall("observe", "--html", tmp_path / "page.html", "--time", "1", str(process.pid))
    assert done.returncode == 1 and "send_body" in (tmp_path / "page.html").read_text(encoding="utf-8")
