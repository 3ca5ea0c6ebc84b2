# SPDX-License-Identifier: MIT
"""Statistics files for the tests: made from a table, or by a program under the library."""

import hashlib
import subprocess
from pathlib import Path

from harness import SOURCE_ROOT, compile_c

PROGRAMS = Path(__file__).resolve().parent / "programs"

# 96 stalls of 44 ms among 100 exchanges, as a client of 127.0.0.1:8080.
STALLING = """
row 1 2 255 1 4 127.0.0.1 8080
exchange 1 44000000 96
exchange 1 60000 4
count 1 connections 1 messages 100 bursts 100 bursts_of_2 100 suspects 96 stalls_proved 96
count 1 stall_ns 4200000000
connection 1 1 255 1 2000000000 0 127.0.0.1 8080 127.0.0.1 40000 100 44000000
"""


def line_with(program, text):
    """The first line of a program that has this text in it."""
    lines = (PROGRAMS / program).read_text(encoding="utf-8").splitlines()
    return next(at for at, line in enumerate(lines, 1) if text in line)


def make_stats_file(path, table=""):
    """Write the statistics file that `table` (programs/table.h) describes to `path`."""
    # compile_c() caches by its sources: these are more of them.
    sources = [PROGRAMS / "table.c", SOURCE_ROOT / "src/stats_file/stats_format.h"]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    maker = compile_c(PROGRAMS / "make_stats_file.c", PROGRAMS / "table.c", "-I",
                      SOURCE_ROOT / "src/stats_file", f"-DSOURCES_{digest[:12]}")
    subprocess.run([maker, path], input=table, text=True, check=True, timeout=20)
    return path
