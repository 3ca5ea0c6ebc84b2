# SPDX-License-Identifier: MIT
"""unstall enable knows the system calls that the library makes of its own accord."""

import re

from harness import SOURCE_ROOT

NEEDED_NOT = {
    "mmap2",             # of 32-bit processors, as the next one
    "fstatfs64",
    "preadv2",           # in the place of the program's own pread
    "close_range",       # of the program's own
    "shutdown",          # later, in the place of the program's own
    "recvfrom",          # likewise, of no bytes
    "process_vm_readv",  # not under a filter: the library asks first
}
BY_LIBC = {"clone", "exit"}  # the window's thread
BY_A_NAME = {"RAW_STAT_AT": "newfstatat"}  # src/preload/sys/raw.h: other processors have another call


def calls_of_the_library():
    """The first argument of raw0() to raw6()."""
    made = set()
    for file in (SOURCE_ROOT / "src/preload").rglob("*.[ch]"):
        for arguments in re.findall(r"\braw[0-6]\(([^;]*?);", file.read_text(), re.DOTALL):
            call = arguments.split(",")[0]
            made |= {BY_A_NAME[call]} if call in BY_A_NAME else set(re.findall(r"SYS_(\w+)", call))
    return made


def listed_calls():
    source = (SOURCE_ROOT / "src/cli/service/preflight.c").read_text()
    lists = re.findall(r"\bcalls(?:_of_stats)?\[\] = \{(.*?)\};", source, re.DOTALL)
    assert len(lists) == 2
    return {name for text in lists for name in re.findall(r'"(\w+)"', text)}


def test_the_calls_that_a_filter_must_permit_are_those_of_the_library():
    assert listed_calls() == calls_of_the_library() - NEEDED_NOT | BY_LIBC
