# SPDX-License-Identifier: MIT
"""The library from outside: exactly the written names, libc alone, few versions, little TLS."""

import json
import re
import shlex
import subprocess
from platform import machine

import pytest

from harness import BUILD_ROOT, CC, HOOK_LIB, IS_32, LIB, PROCESSOR, ROW, SOURCE_ROOT, skip

SURFACE = SOURCE_ROOT / "src/preload/sys/surface.def"


def output_of(*argv):
    return subprocess.run([str(word) for word in argv], check=True, capture_output=True, text=True).stdout


def surface():
    """Name -> (need, family, role) of the one table."""
    rows = re.findall(rf"^{ROW}\((\w+), (\w+), (\w+), (\w+)\)", SURFACE.read_text(encoding="utf-8"), re.M)
    assert len({row[0] for row in rows}) == len(rows), "a name stands twice in surface.def"
    return {name: tuple(rest) for name, *rest in rows}


def names_of_this_machine():
    return set(surface())


def surface_of_this_machine():
    return output_of(*CC, "-E", "-P", "-x", "c", "-DVERSION=VERSION", SURFACE)


def symbols(path, *options):
    """(kind, name without version) of a library's dynamic symbols."""
    pairs = re.findall(r"^(?:[0-9a-f]+| +) (\w) (\S+)$", output_of("nm", "-D", *options, path), re.M)
    return {(kind, name.split("@")[0]) for kind, name in pairs}


def exported(path):
    return {name for kind, name in symbols(path, "--defined-only") if kind not in "At"}  # t: a local symbol


def test_every_written_name_is_exported_and_no_other():
    assert exported(LIB) == names_of_this_machine()


def test_the_hook_library_exports_the_switches_too():
    assert exported(HOOK_LIB) == names_of_this_machine() | {"unstall_hook_lacks"}


def test_both_names_of_one_function_are_there():
    """fcntl and fcntl64, sendfile and sendfile64 are one address in glibc: an interposer needs both."""
    for pair in (("fcntl", "fcntl64"), ("sendfile", "sendfile64"), ("pwritev2", "pwritev64v2")):
        assert set(pair) <= exported(LIB)


def musl_libc():
    for path in ("/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"):
        try:
            return {name for _, name in symbols(path, "--defined-only")}
        except subprocess.CalledProcessError:
            continue
    return skip("musl is not installed")


def test_every_imported_name_exists_in_musl():
    imported = {name for kind, name in symbols(LIB, "--undefined-only") if kind == "U"}
    assert imported, "nothing imported: not the library"
    assert imported - musl_libc() == set()


def text_of(source):
    """What the compiler sees of a file of the library."""
    commands = json.loads((BUILD_ROOT / "compile_commands.json").read_text(encoding="utf-8"))
    words = next(shlex.split(each["command"]) for each in commands if each["file"].endswith(f"/{source}"))
    options = [word for word in words if word.startswith(("-I", "-D", "-U", "-std"))]
    done = subprocess.run([*CC, *options, "-E", "-P", SOURCE_ROOT / "src/preload" / source], cwd=BUILD_ROOT,
                          check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize("source", sorted(path.name for path in
                                          (SOURCE_ROOT / "src/preload/exports").glob("*.c")))
def test_no_header_promises_the_compiler_that_a_callers_pointer_is_not_null(source):
    """Debian 13's stdio.h promises it for fclose: gcc dropped our check, and fclose(NULL) asked fileno(NULL)
    before libc, or the library behind us, had its say."""
    assert re.findall(r"\w+ *\([^;]*nonnull[^;]*;", text_of(f"exports/{source}")) == []


def test_needs_libc_alone():
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", "-W", LIB))
    assert {name for name in needed if not re.match(r"ld[a-z0-9-]*\.so\.", name)} == {"libc.so.6"}


def test_versions_only_where_libc_has_several_definitions():
    """A named version ends interposition for callers of every other version (tests/abi/test_versions.py)."""
    rows = re.findall(r'^VERSION\(\w+, (\w+), "(\S+)", "(\S+)"\)', surface_of_this_machine(), re.M)
    expected = {f"{name}@{older}" for name, older, _ in rows}
    expected |= {f"{name}@@{newest}" for name, _, newest in rows}
    nm = output_of("nm", "-D", "--defined-only", "--with-symbol-versions", LIB)
    assert set(re.findall(r" [TWi] (\w+@\S+)$", nm, re.M)) == expected
    assert expected


def test_thread_locals_are_few_and_static():
    """Initial-exec, at most 512 bytes: what a later dlopen of others still finds room beside."""
    segments = re.findall(r"^ +TLS +\S+ \S+ \S+ \S+ (0x[0-9a-f]+)", output_of("readelf", "-lW", LIB), re.M)
    assert all(int(size, 16) <= 512 for size in segments)
    assert not re.search("DTPMOD|TLS_?DESC", output_of("readelf", "-rW", LIB))
    if segments and PROCESSOR != "aarch64":  # whose linker sets no such flag
        assert "STATIC_TLS" in output_of("readelf", "-dW", LIB)
    assert "__tls_get_addr" not in {name for _, name in symbols(LIB)}


def test_stack_is_not_executable_and_nothing_is_relocated_in_text():
    """vfork is written in assembly: a forgotten note would make every host's stack executable."""
    stack = re.search(r"^ +GNU_STACK +\S+ \S+ \S+ \S+ \S+ (\S+)", output_of("readelf", "-lW", LIB), re.M)
    assert stack.group(1) == "RW"
    assert "TEXTREL" not in output_of("readelf", "-dW", LIB)


def manual_names():
    """The names that the built manual page lists: the words set in bold in its section on names."""
    page = next(iter(sorted(BUILD_ROOT.rglob("libunstall.7"))), None)
    if page is None:
        skip("no libunstall.7 in the build folder: scdoc is missing")
    text = page.read_text(encoding="utf-8").replace("\\_", "_").replace("\\-", "-")
    section = re.search(r'^\.SH "?INTERPOSED NAMES"?\n(.*?)(?=^\.SH |\Z)', text, re.S | re.M)
    assert section, "libunstall.7 has no section INTERPOSED NAMES"
    return set(re.findall(r"\\fB(\w+)\\fR", section.group(1)))


@pytest.mark.processors(machine())
def test_manual_lists_the_surface():
    assert manual_names() == set(surface())


ROLES = ("write", "read", "wait", "create", "close", "option", "stdio", "process", "signal")


@pytest.mark.parametrize("role", ROLES)
def test_every_role_has_names(role):
    assert [name for name, row in surface().items() if row[2] == role]


def twins(names):
    """Name of libc -> the name of the surface of which it is the form with 64-bit times."""
    found = {}
    for name in names:
        plain = re.fullmatch(r"__(\w+?)(?:_time)?64", name)
        if plain and plain.group(1) in surface():
            found[name] = plain.group(1)
    return found


def test_every_name_of_libc_with_64_bit_times_is_in_the_surface():
    """A 32-bit program that was compiled with _TIME_BITS=64 calls these instead."""
    libc = output_of(*CC, "-print-file-name=libc.so.6").strip()
    expected = twins(name for _, name in symbols(libc, "--defined-only"))
    assert set(expected) <= exported(LIB)
    assert len(expected) > 25 if IS_32 else not expected


def test_a_twin_is_recognised():
    assert twins(["__ppoll64", "__clock_nanosleep_time64", "__stat64", "fcntl64"]) == {
        "__ppoll64": "ppoll", "__clock_nanosleep_time64": "clock_nanosleep"}
