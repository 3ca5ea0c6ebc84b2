# SPDX-License-Identifier: MIT
"""The writers of the pieces in a program that is interpreted, or compiled while it runs."""

import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness import LIB, AnsweringPeer, bare_env, need_root, patiently, preload_env, stats_directory, unstall
from stats_files import PROGRAMS, line_with
from talkers import talking_server

NODE = ("node", "--perf-basic-prof", "--interpreted-frames-native-stack")


def told(path):
    return " ".join(unstall("report", path, check=True).stdout.split())


@pytest.fixture(name="node", scope="module")
def a_run_of_node():
    """The folder of its statistics, and the map of its code."""
    with stats_directory() as folder, AnsweringPeer() as peer, tempfile.TemporaryDirectory() as its_log:
        process = subprocess.Popen([*NODE, PROGRAMS / "two_authors.js", str(peer.target[1]), "5"],
                                   env=preload_env("observe", UNSTALL_STATS=folder), cwd=its_log)
        code_map = Path(f"/tmp/perf-{process.pid}.map")
        try:
            assert process.wait(30) == 0
            yield folder, code_map
        finally:
            process.kill()
            code_map.unlink(missing_ok=True)


def test_the_map_of_node_names_functions_and_lines(node):
    assert re.search(r"the first piece \(200 bytes\) is written by sendHeader \(two_authors.js:6\); "
                     r"the second \(100 bytes\) by sendBody \(two_authors.js:10\): join them", told(node[0]))


def test_a_map_of_another_user_is_not_believed(node):
    """Anybody can write to /tmp."""
    folder, code_map = node
    need_root("can give a file away")
    os.chown(code_map, 65534, -1)
    try:
        assert "sendHeader" not in told(folder)
    finally:
        os.chown(code_map, 0, -1)
    assert "sendHeader" in told(folder)


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_map_of_an_earlier_or_a_later_process_is_not_believed(node, hours):
    """The kernel uses numbers of processes again."""
    folder, code_map = node
    then = code_map.stat().st_mtime
    os.utime(code_map, (then, then + 3600 * hours))
    try:
        assert "sendHeader" not in told(folder)
    finally:
        os.utime(code_map, (then, then))


def test_a_link_is_not_followed(node, tmp_path):
    folder, code_map = node
    code_map.rename(tmp_path / "map")
    code_map.symlink_to(tmp_path / "map")
    try:
        assert "sendHeader" not in told(folder)
    finally:
        code_map.unlink()
        (tmp_path / "map").rename(code_map)


@pytest.mark.parametrize("line", [
    b"", b"zz zz zz", b"\xff" * 5000, b"1 ffffffffffffffff JS:", b"0 0 JS:~a b:1:2",
    b"1 1 JS:~" + b"x" * 3000, b"1 1 py::", b"1 1 ("])
def test_any_line_of_a_map_may_be_damaged(node, line):
    folder, code_map = node
    whole, times = code_map.read_bytes(), code_map.stat()
    code_map.write_bytes(line + b"\n" + whole + line)
    os.utime(code_map, (times.st_mtime, times.st_mtime))
    try:
        assert "sendHeader" in told(folder)
    finally:
        code_map.write_bytes(whole)
        os.utime(code_map, (times.st_mtime, times.st_mtime))


@pytest.fixture(name="java_class", scope="module")
def a_compiled_class(tmp_path_factory):
    """The folder of TwoAuthors.class."""
    folder = tmp_path_factory.mktemp("java")
    subprocess.run(["javac", "-g", "-d", folder, PROGRAMS / "TwoAuthors.java"], check=True, timeout=60)
    return folder


# Compiles its methods at their first call, apart from each other; the rest of the JVM's code is interpreted.
JAVA = ("java", "-XX:+PreserveFramePointer", "-Xcomp", "-XX:CompileCommand=quiet",
        "-XX:CompileCommand=compileonly,TwoAuthors::*", "-XX:CompileCommand=dontinline,TwoAuthors::send*")


def test_the_map_of_a_jvm_names_the_methods(folder, peer, java_class):
    """It is written when jcmd asks."""
    process = subprocess.Popen([*JAVA, "-cp", java_class, "TwoAuthors", str(peer.target[1]), "1000000"],
                               env=preload_env("observe", UNSTALL_STATS=folder),
                               stdout=subprocess.DEVNULL)
    code_map = Path(f"/tmp/perf-{process.pid}.map")
    try:
        end = time.monotonic() + 30
        while "Who wrote the pieces" not in unstall("report", folder).stdout:
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.2)
        assert "by TwoAuthors" not in told(folder)
        subprocess.run(["jcmd", str(process.pid), "Compiler.perfmap"], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)
        assert ("the first piece (200 bytes) is written by TwoAuthors.sendHeader; the second (100 bytes) "
                "by TwoAuthors.sendBody: join them") in told(folder)
    finally:
        process.kill()
        process.wait(10)
        code_map.unlink(missing_ok=True)


# ---- the runtime's own tool ------------------------------------------------

PY_SPY = PROGRAMS / "py-spy.txt"


@pytest.fixture(name="py_spy", scope="module")
def an_installed_py_spy(tmp_path_factory):
    """PATH, with py-spy of PyPI in it."""
    folder = tmp_path_factory.mktemp("py-spy")
    subprocess.run(["/usr/bin/python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    "--require-hashes", "--target", folder, "-r", PY_SPY], check=True, timeout=120)
    return f"{folder / 'bin'}:{os.environ['PATH']}"


@pytest.mark.parametrize("apart", [[], ["--pid", "--fork", "--kill-child", "--mount-proc"]],
                         ids=["here", "in a PID namespace"])
def test_the_map_of_a_running_node_is_read_by_observe(apart, tmp_path):
    """In a PID namespace its file has the number there.  A file older than the process is another's."""
    if unstall("scan", "--source", "exact", "--time", "0.1").returncode == 125:
        pytest.skip("the exact source needs CAP_BPF and CAP_PERFMON")
    folder = tmp_path / "tmp"  # in place of /tmp, where perf-1.map could be anybody's
    folder.mkdir()
    inside = ["unshare", "--mount", *apart, "sh", "-c", 'mount --bind "$0" /tmp && exec "$@"', folder]
    with talking_server(*inside, *NODE, PROGRAMS / "two_authors.js", cwd=folder) as server:
        pid = server.pid
        if apart:
            (pid,) = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split())
        code_map = folder / f"perf-{1 if apart else pid}.map"

        def told_by_observe():
            done = unstall("observe", "--time", "2", str(pid), timeout=60)
            return " ".join((done.stdout + done.stderr).split())

        # On a busy machine two seconds may pass without a stall.
        assert any("is written by sendHeader (two_authors.js:" in told_by_observe() for _ in range(3))
        code_map.rename(folder / "moved")  # node goes on writing there
        code_map.write_bytes((folder / "moved").read_bytes())
        an_hour_ago = code_map.stat().st_mtime - 3600
        os.utime(code_map, (an_hour_ago, an_hour_ago))
        texts = (told_by_observe() for _ in range(3))
        text = next(text for text in texts if "Who wrote the pieces" in text)
        assert "sendHeader" not in text.partition("Who wrote the pieces")[2]


def observed(*words, caller=None, **variables):
    done = unstall("observe", "--who", *words, env=bare_env(**variables), timeout=60, preexec_fn=caller)
    return " ".join(done.stderr.split())


def python_told(second="100"):
    header, body = (line_with("two_authors.py", text) for text in ("* 200", "* SECOND"))
    return ("As py-spy tells, the first piece (200 bytes) is written by send_header "
            f"(two_authors.py:{header}); "
            f"the second ({second} bytes) by send_body (two_authors.py:{body}): join them.")


@pytest.mark.parametrize("second", ["100", "1400", "20 000"])
def test_py_spy_names_both_lines_of_a_running_server(py_spy, second):
    """From 1 400 bytes on, the second piece was none."""
    size = int(second.replace(" ", ""))
    words = ["/usr/bin/python3", PROGRAMS / "two_authors.py", str(size)]
    with talking_server(*words, answer=200 + size) as server:
        def attempt():
            text = observed("--time", "4", str(server.pid), PATH=py_spy)
            assert server.poll() is None
            state = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
            assert re.search(r"TracerPid:\s+0$", state, re.MULTILINE)
            assert python_told(second) in text
            assert re.search(r": join them\. The times above include the pauses of its \d+ questions\.", text)
        patiently(attempt)  # on a busy machine the tool may be too slow for the time that it is given


def test_py_spy_names_the_message_that_waits_and_the_one_before(py_spy):
    """Observe told the stall, and of its code that there was no message in two small writes."""
    first, second = (line_with("one_by_one.py", text) for text in ("* 200", "* 100"))
    with talking_server("/usr/bin/python3", PROGRAMS / "one_by_one.py", asked=20) as server:
        def attempt():
            text = observed("--time", "4", str(server.pid), PATH=py_spy)
            assert server.poll() is None
            assert ("As py-spy tells, the held message (100 bytes) is written by answer_second "
                    f"(one_by_one.py:{second}); the one before (200 bytes) by answer_first "
                    f"(one_by_one.py:{first}): set TCP_NODELAY there.") in text
        patiently(attempt)  # as above


def test_without_the_tool_it_is_named(tmp_path):
    (tmp_path / "env").symlink_to("/usr/bin/env")
    with talking_server("/usr/bin/python3", PROGRAMS / "two_authors.py") as server:
        def attempt():
            text = observed("--time", "2", str(server.pid), PATH=str(tmp_path))
            assert ("py-spy is not installed, so no line is known; py-spy (pip install py-spy) names "
                    "functions and lines of Python.") in text
            assert "observe --who" not in text  # that had just been typed
        patiently(attempt)  # on a busy machine two seconds may pass without a stall


def planted_tool(folder, commands):
    """A py-spy of this shell script; the PATH that finds it."""
    tool = folder / "py-spy"
    tool.write_text(f"#!/bin/sh\n{commands}\n", encoding="utf-8")
    tool.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize("children", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_tool_that_refuses_is_quoted(children, tmp_path):
    """Also if the kernel keeps no exit code for the caller: its end is seen."""
    path = planted_tool(tmp_path, "echo 'Error: planted refusal'; exit 1")
    with talking_server("/usr/bin/python3", PROGRAMS / "two_authors.py") as server:
        def attempt():
            text = observed("--time", "2", str(server.pid), PATH=path,
                            caller=lambda: signal.signal(signal.SIGCHLD, children))
            assert "py-spy has named no frame of the thread that writes: Error: planted refusal" in text
        patiently(attempt)  # as above
        assert server.poll() is None


def test_jcmd_names_the_methods_of_a_program_that_is_started(java_class):
    def attempt():
        with AnsweringPeer() as peer:
            text = observed("--library", str(LIB), "--", "java", "-Xint", "-cp", str(java_class),
                            "TwoAuthors", str(peer.target[1]), "40")
        assert ("As jcmd tells, the first piece (200 bytes) is written by TwoAuthors.sendHeader "
                f"(TwoAuthors.java:{line_with('TwoAuthors.java', 'byte[200]')}); the second (100 bytes) by "
                "TwoAuthors.sendBody "
                f"(TwoAuthors.java:{line_with('TwoAuthors.java', 'byte[100]')}): join them.") in text
    patiently(attempt)  # as above


def test_a_program_that_is_traced_already_is_told(tmp_path):
    """The sentence ended in "?."."""
    words = ["strace", "-o", "/dev/null", "/usr/bin/python3", PROGRAMS / "two_authors.py"]
    with talking_server(*words) as server:
        (pid,) = map(int, Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text("ascii").split())
        text = observed("--time", "1", str(pid), PATH=planted_tool(tmp_path, "true"))
        os.kill(pid, signal.SIGKILL)  # strace would leave it
    assert (f"Process {pid} may not be stopped for a look: Operation not permitted; another program may "
            "trace it.") in text


def test_a_tool_that_hangs_does_not_hold_the_program(tmp_path):
    path = planted_tool(tmp_path, "exec sleep 20")
    with talking_server("/usr/bin/python3", PROGRAMS / "two_authors.py") as server:
        text = observed("--time", "1", str(server.pid), PATH=path)
        state = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
        assert server.poll() is None and re.search(r"TracerPid:\s+0$", state, re.MULTILINE)
    assert "The look has ended before both writes of a message were known" in text
