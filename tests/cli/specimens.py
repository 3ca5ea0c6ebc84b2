# SPDX-License-Identifier: MIT
"""Real programs that a preload cannot reach, each in its own way."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

from harness import NOBODY, compile_c, need_root

SETUID = "can make a program of somebody else's rights"
HELLO = Path(__file__).parent / "programs/hello.c"

CAP_NET_RAW = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)  # capabilities(7), VFS_CAP_REVISION_2


def plain(_folder):
    return compile_c(HELLO)


def static(_folder):
    return compile_c(HELLO, "-static")


def static_pie(_folder):
    return compile_c(HELLO, "-static-pie", "-fPIE")


def musl(_folder):
    return compile_c(HELLO, cc="musl-gcc")


def musl_static(_folder):
    return compile_c(HELLO, "-static", cc="musl-gcc")


def sanitized(_folder):
    return compile_c(HELLO, "-fsanitize=address")


def go_by_note(folder):
    """The note alone, as where the names of the sections are gone."""
    binary = folder / "go-note"
    subprocess.run(["objcopy", "--rename-section", ".note.go.buildid=.note.other",
                    compile_c(HELLO, "-DAS_GO"), binary], check=True)
    return binary


def go_by_section(folder):
    """As Go 1.18 and later leave it, also when stripped."""
    info = folder / "buildinfo"
    info.write_bytes(b"\xff Go buildinf:\x08\x02")
    binary = folder / "go-section"
    subprocess.run(["objcopy", "--add-section", f".go.buildinfo={info}", plain(folder), binary], check=True)
    return binary


def copy(folder, name):
    return Path(shutil.copy(plain(folder), folder / name))


def patched(folder, name, offset, value):
    """A copy with other bytes in its ELF header."""
    binary = copy(folder, name)
    with open(binary, "r+b") as file:
        file.seek(offset)
        file.write(value)
    return binary


def other_machine(folder):
    return patched(folder, "sparc", 18, struct.pack("<H", 43))


def of_32_bits(folder):
    """As gcc -m32 would make it, as far as a look at its headers goes."""
    linker = b"/lib/ld-linux.so.2\0"
    head = struct.pack("<16s2H5I6H", b"\x7fELF\1\1\1", 2, 3, 1, 0x8000, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    interpreter = struct.pack("<8I", 3, 84, 84, 84, len(linker), len(linker), 4, 1)
    binary = folder / "i386"
    binary.write_bytes(head + interpreter + linker)
    binary.chmod(0o755)
    return binary


def setuid(folder):
    need_root(SETUID)
    binary = copy(folder, "setuid")
    os.chown(binary, NOBODY, 0)
    binary.chmod(0o4755)
    return binary


def setgid(folder):
    need_root(SETUID)
    binary = copy(folder, "setgid")
    os.chown(binary, 0, NOBODY)
    binary.chmod(0o2755)
    return binary


def with_linker(folder, linker):
    return compile_c(HELLO, f"-Wl,--dynamic-linker={linker}")


def without_its_linker(folder):
    return with_linker(folder, "/nonexistent/ld-linux-x86-64.so.2")


def of_another_libc(folder):
    return with_linker(folder, "/usr/bin/true")


def script(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path
