# SPDX-License-Identifier: MIT
"""Who wrote the pieces of a program that is interpreted, or compiled while it runs."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from harness import AnsweringPeer, preload_env, unstall
from stats_files import PROGRAMS, stats_folder

NODE = ("node", "--perf-basic-prof", "--interpreted-frames-native-stack")


def told(path):
    return " ".join(unstall("report", path, check=True).stdout.split())


@pytest.fixture(name="node", scope="module")
def a_run_of_node():
    """The folder of its statistics, and the map of its code."""
    with stats_folder() as folder, AnsweringPeer() as peer:
        process = subprocess.Popen([*NODE, PROGRAMS / "two_authors.js", str(peer.target[1]), "5"],
                                   env=preload_env("observe", UNSTALL_STATS=folder))
        code_map = Path(f"/tmp/perf-{process.pid}.map")
        try:
            assert process.wait(30) == 0
            yield folder, code_map
        finally:
            process.kill()
            code_map.unlink(missing_ok=True)


def test_the_map_of_node_names_functions_and_lines(node):
    assert re.search(r"the first piece \(200 bytes\) is written by sendHeader \(two_authors.js:4\); "
                     r"the second \(100 bytes\) by sendBody \(two_authors.js:8\): join them", told(node[0]))


def test_a_map_of_another_user_is_not_believed(node):
    """Anybody can write to /tmp."""
    folder, code_map = node
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
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
