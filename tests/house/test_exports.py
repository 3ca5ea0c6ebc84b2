# SPDX-License-Identifier: MIT
"""Whoever looks for a name of the surface finds it: `grep -E '^EXPORT [^(]*\\bNAME\\('` has one answer.

Macros once made 183 of the 219 names, and nobody found `write`.
"""

import re

import pytest

from harness import SOURCE_ROOT

pytestmark = pytest.mark.no_library

SURFACE = (SOURCE_ROOT / "src/preload/sys/surface.def").read_text(encoding="utf-8")
ROWS = re.findall(r"^ROW(?:32)?\((\w+), \w+, (\w+), \w+\)", SURFACE, re.M)
SOURCES = {path.name: path.read_text(encoding="utf-8")
           for path in sorted((SOURCE_ROOT / "src/preload/exports").glob("*.[chS]"))}

# A definition, in C or in assembly; one more name of such a one.
DEFINED = re.compile(r"^EXPORT [^(\n]*\b(\w+)\(|^\t\.globl\t(\w+)$", re.M)
ALSO = re.compile(r"^ALSO\((\w+), (\w+)\)", re.M)
RENAMED = re.compile(r'^\w+ (\w+)\([^;]*\) __asm__\("(\w+)"\);', re.M)

# The names that a reader looks for first are functions in C: no macro has their body.
WELL_KNOWN = """write writev send sendto sendmsg sendmmsg sendfile splice read readv recv recvfrom recvmsg
    recvmmsg poll ppoll select epoll_wait epoll_pwait socket connect accept accept4 listen shutdown setsockopt
    getsockopt close close_range dup dup2 dup3 fcntl fork execve posix_spawn clone prctl
    """.split()


def lost(rows, sources):
    """The names that are not defined, or named as others of one that is, once in the file of their family."""
    files, others = {}, {}
    for source, text in sources.items():
        for names in DEFINED.findall(text):
            files.setdefault("".join(names), []).append(source)
        others |= dict(ALSO.findall(text)) | {name: own for own, name in RENAMED.findall(text)}
    return [name for name, family in rows
            if files.get(name if name in files else others.get(name))
            not in ([f"exports_{family}.c"], ["jump.S"])]


def without_a_body(names, sources):
    """The names whose parameters, with one level of parentheses, are not followed by a body."""
    every = "\n".join(sources.values())
    return [name for name in names
            if not re.search(rf"^EXPORT [^(\n]*\b{name}\((?:[^()]|\([^()]*\))*\) {{$", every, re.M)]


def test_every_name_is_found_where_the_surface_says():
    assert len(ROWS) > 200
    assert lost(ROWS, SOURCES) == []


def test_the_well_known_are_functions():
    assert set(WELL_KNOWN) <= {name for name, _ in ROWS}
    assert without_a_body(WELL_KNOWN, SOURCES) == []


@pytest.mark.parametrize("old, new, names", [
    ("EXPORT ssize_t write(", "EXPORT ssize_t wrote(", ["write", "__write"]),
    ("EXPORT ssize_t write(", "static ssize_t write(", ["write", "__write"]),
    ("ALSO(__write, write)\n", "", ["__write"]),
    ("\nEXPORT ssize_t send(", "\nEXPORT int write(int fd) {\n}\nEXPORT ssize_t send(",
     ["write", "__write"]),
    ("\nEXPORT ssize_t write(", "\nWRITES(\nssize_t write(", ["write", "__write"]),
])
def test_a_lost_name_is_found(old, new, names):
    text = SOURCES["exports_write.c"]
    assert old in text
    assert lost(ROWS, SOURCES | {"exports_write.c": text.replace(old, new)}) == names


def test_a_name_in_another_family_is_found():
    moved = SOURCES | {"exports_read.c": SOURCES["exports_read.c"] + "\nEXPORT int splice(int fd) {\n}\n",
                       "exports_write.c": SOURCES["exports_write.c"].replace("EXPORT ssize_t splice", "x")}
    assert lost(ROWS, moved) == ["splice"]


def test_a_body_by_a_macro_is_found():
    head = "recvmsg(int fd, struct msghdr *message, int flags)"
    planted = SOURCES["exports_read.c"].replace(f"t {head} {{\n", f"t {head}\n    READS\n")
    assert without_a_body(WELL_KNOWN, SOURCES | {"exports_read.c": planted}) == ["recvmsg"]
