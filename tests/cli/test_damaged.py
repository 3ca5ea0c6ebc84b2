# SPDX-License-Identifier: MIT
"""A file that is no sound statistics file gets one clear error: its kind, the reason,
and the expected form."""

import os

import pytest

from harness import unstall
from stats_files import STALLING, make_stats_file


def refused(path):
    """The one line that report says about `path`."""
    done = unstall("report", path)
    assert done.returncode == 125, done.stdout + done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"unstall report: {path}: ")
    return done.stderr


@pytest.mark.parametrize("table, message", [
    ("bytes 0 00", "is a file of another kind; expected a statistics file"),
    ("bytes 0 0000000000000000", "has no header yet"),
    ("bytes 0 7f454c46", "is a file of another kind; expected a statistics file"),
    ("header version 0", "is damaged (format 0)"),
    ("header version 2", "is of format 2, and this command reads up to 1; use the command that came"),
    ("header version 4294967295", "is of format 4294967295"),
    ("header version 16777216", "was written by a machine of the other byte order"),
    ("header bytes 3462721", "has another layout (3462721 bytes"),
    ("header bytes 18446744073709551615", "has another layout"),
    ("header header_bytes 8", "has another layout"),
])
def test_damaged_headers(tmp_path, table, message):
    assert message in refused(make_stats_file(tmp_path / "x.unstall", table))


@pytest.mark.parametrize("size, message", [
    (0, "is empty"),
    (5, "is a file of another kind"),
    (9, "is truncated: 9 bytes of"),
    (4096, "is truncated: 4096 bytes of"),
    (-1, "is truncated"),
    (+1, "is too large"),
    (1 << 40, "is too large: 1099511627776 bytes"),
])
def test_wrong_sizes(tmp_path, size, message):
    path = make_stats_file(tmp_path / "x.unstall", STALLING)
    whole = path.stat().st_size
    os.truncate(path, whole + size if abs(size) == 1 else size)
    assert message in refused(path)


def test_a_link_is_not_followed_and_a_pipe_and_a_device_are_not_waited_for(tmp_path):
    (tmp_path / "link.unstall").symlink_to(make_stats_file(tmp_path / "x.unstall", STALLING))
    os.mkfifo(tmp_path / "pipe.unstall")
    assert "is a symbolic link; give the statistics file itself" in refused(tmp_path / "link.unstall")
    assert "is a pipe; expected" in refused(tmp_path / "pipe.unstall")
    assert "is a device; expected" in refused("/dev/null")
    assert "No such file or directory; expected" in refused(tmp_path / "none.unstall")


def test_a_name_cannot_break_the_line(tmp_path):
    done = unstall("report", tmp_path / "a\nb\033[31m")
    assert done.stderr.count("\n") == 1
    assert "\033" not in done.stderr


def test_a_process_without_the_library_has_no_segment():
    """It named `observe -- PROGRAM`, and denied that a running process can be cured."""
    done, pid = unstall("report", str(os.getpid())), os.getpid()
    assert done.returncode == 125
    assert (f"runs without the library, so it has no statistics; unstall observe {pid} tells its stalls, "
            f"unstall attach {pid} cures them\n") in done.stderr


def test_one_bad_file_does_not_spoil_a_folder(tmp_path):
    make_stats_file(tmp_path / "1.unstall", STALLING)
    (tmp_path / "2.unstall").write_text("nonsense")
    (tmp_path / "notes.txt").write_text("not looked at")
    done = unstall("report", "--json", tmp_path, check=True)
    assert done.stderr.count("\n") == 1
    assert "2.unstall: is a file of another kind" in done.stderr
    assert '"pid": 4711' in done.stdout


@pytest.mark.parametrize("table", [
    "row 1 200 99 77 99 127.0.0.1 8080",
    "connection 1 99 255 1 5 0 127.0.0.1 80 127.0.0.1 1 1 1",
    "connection 1 1 77 99 5 0 127.0.0.1 80 127.0.0.1 1 1 1",
    "module 2000 1000 0 aabb /lib/x.so",
    "pattern 99 1 2 3 4 5",
    "header mode 99",
])
def test_entries_that_make_no_sense_are_left_out_and_counted(tmp_path, table):
    path = make_stats_file(tmp_path / "x.unstall", STALLING + table + "\n")
    done = unstall("report", "--json", path, check=True)
    assert '"entries_without_sense": 0' not in done.stdout
    unstall("report", path, check=True)
