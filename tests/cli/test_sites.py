# SPDX-License-Identifier: MIT
"""The writers of the pieces: functions and lines of a real program, also when it is gone."""

import json
import os
import re
import shutil
import socket
import subprocess

import pytest

from harness import (HOOK_LIB, LIB, AnsweringPeer, bare_env, compile_c, patiently, preload_env,
                     stats_directory, unstall)
from stats_files import PROGRAMS, STALLING, line_with, make_stats_file
from talkers import STALLER, started_talker

SOURCE = PROGRAMS / "two_authors.c"


def line_of(mark):
    return line_with("two_authors.c", f"/* LINE {mark} */")


def told(path, env=None):
    return " ".join(unstall("report", path, env=env, check=True).stdout.split())


def run_authors(binary, folder, *words, **variables):
    with AnsweringPeer() as peer:
        subprocess.run([binary, *peer.target, "10", *words], check=True, timeout=30,
                       stdout=subprocess.DEVNULL,
                       env=preload_env("observe", UNSTALL_STATS=folder, **variables))


def test_the_report_names_the_two_functions_and_lines():
    name = compile_c(SOURCE).name

    def attempt():
        with stats_directory() as folder:
            run_authors(compile_c(SOURCE), folder)
            text = told(folder)
        assert ("the first piece (200 bytes) is written by send_header "
                f"(two_authors.c:{line_of('header')}) in {name}; the second (100 bytes) by send_body "
                f"(two_authors.c:{line_of('body')}) in {name}: join them.") in text
        assert re.search(r"- 10 messages, \d+ stalls, \d+ ms lost: ", text)
    patiently(attempt)  # a pause of 20 ms within a message makes two of it, of which no place is kept


def test_behind_a_common_wrapper_those_who_differ_are_named(folder):
    run_authors(compile_c(SOURCE), folder, "wrapped")
    text = told(folder)
    assert f"wrapped_header (two_authors.c:{line_of('wrapped header')})" in text
    assert f"wrapped_body (two_authors.c:{line_of('wrapped body')})" in text
    assert text.count("through put") == 2


def test_in_json_the_frames_are_whole():
    def attempt():
        with stats_directory() as folder:
            run_authors(compile_c(SOURCE), folder, "wrapped")
            (process,) = json.loads(unstall("report", "--json", folder, check=True).stdout)["processes"]
        (pattern,) = process["patterns"]
        assert pattern["count"] == 10 and pattern["row"] == process["connections"][0]["row"]
        return pattern
    pattern = patiently(attempt)  # as above
    first, second = pattern["occurrences"][0]
    assert [frame["function"] for frame in first["frames"][:3]] == ["put", "wrapped_header", "main"]
    assert [frame["function"] for frame in second["frames"][:3]] == ["put", "wrapped_body", "main"]
    assert first["author"]["function"] == "wrapped_header"
    assert (first["bytes"], second["bytes"]) == (200, 100)
    assert {frame["kind"] for frame in first["frames"][:3]} == {"program"}


def test_a_program_that_was_rebuilt_since_is_not_believed(folder, tmp_path):
    binary = tmp_path / "talker"
    shutil.copy(compile_c(SOURCE), binary)
    run_authors(binary, folder)
    assert "send_header" in told(folder)
    shutil.copy(compile_c(SOURCE, "-DANOTHER=1", "-O0"), binary)
    text = told(folder)
    assert re.search(r"code at talker\+0x[0-9a-f]+ \(the file has changed since\)", text)
    assert "send_header" not in text
    os.unlink(binary)
    assert re.search(r"code at talker\+0x[0-9a-f]+ \(the file no longer exists\)", told(folder))


def test_after_an_upgrade_of_the_library_no_frames_are_made_up(peer, folder, tmp_path):
    """Its frames were unwound by chance: authors at addresses like 0xc7."""
    library = tmp_path / "libunstall.so"
    shutil.copy(LIB, library)
    subprocess.run([compile_c(SOURCE), *peer.target, "10"], check=True, timeout=30,
                   stdout=subprocess.DEVNULL,
                   env=preload_env("observe", library=library, UNSTALL_STATS=folder))
    shutil.copy(HOOK_LIB, library)
    (process,) = json.loads(unstall("report", "--json", folder, check=True).stdout)["processes"]
    first, second = process["patterns"][0]["occurrences"][0]
    assert [frame["function"] for frame in first["frames"]] == ["send_header"]
    assert [frame["function"] for frame in second["frames"]] == ["send_body"]


@pytest.mark.parametrize("flag, said", [
    ("--strip-debug", r"written by send_header in talker; the second \(100 bytes\) by send_body in talker"),
    ("--strip-all", r"written by code at talker\+0x[0-9a-f]+; the second \(100 bytes\) by code at "
                    r"talker\+0x"),
])
def test_code_is_named_by_its_function_or_its_place(folder, tmp_path, flag, said):
    """What a stripped program still has."""
    binary = tmp_path / "talker"
    subprocess.run(["strip", flag, "-o", binary, compile_c(SOURCE)], check=True)
    run_authors(binary, folder)
    text = told(folder)
    assert re.search(said, text) and "two_authors.c" not in text


@pytest.mark.parametrize("flags, cc", [
    (["-no-pie"], "gcc"), (["-O2", "-fomit-frame-pointer"], "gcc"), (["-O0"], "gcc"),
    (["-O2", "-fno-asynchronous-unwind-tables", "-fno-omit-frame-pointer"], "gcc"), (["-gdwarf-4"], "clang"),
    (["-Wl,-z,separate-code,-z,max-page-size=65536"], "gcc"), (["-gz"], "gcc"),
    (["-Wl,--build-id=none"], "gcc"),
], ids=["no-pie", "O2", "O0", "frame-pointer", "clang", "big-pages", "compressed", "no-build-id"])
def test_however_it_was_built(folder, flags, cc):
    run_authors(compile_c(SOURCE, *flags, cc=cc), folder)
    text = told(folder)
    assert f"send_header (two_authors.c:{line_of('header')})" in text
    assert f"send_body (two_authors.c:{line_of('body')})" in text


@pytest.mark.parametrize("symbols, names", [
    ({"send_header": "_ZN33_$LT$T$u20$as$u20$two..Sender$GT$6header17h316d7ccf971499ceE",
      "send_body": "_RNvXCs9lviOnV7Yo6_3twoNtNtNtCsjrHSEGnQ3l9_3std3net3tcp9TcpStreamNtB2_6Sender4bodyB2_"},
     ("<T as two::Sender>::header", "<std::net::tcp::TcpStream as two::Sender>::body")),
    ({"send_header": "header__app_12", "send_body": "send__pureZnet_7", "wrapped_body": "NimMain"},
     ("app.header", "net.send")),
    ({"send_header": "header__app_12", "send_body": "body__app_13"}, ("header__app_12", "body__app_13")),
    ({"send_header": "_ZN12_GLOBAL__N_16Client6headerIiEEvT_", "send_body": "_ZN12_GLOBAL__N_16ClientclEm"},
     ("(anonymous namespace)::Client::header<int>", "(anonymous namespace)::Client::operator()")),
    ({"send_header": "_ZN6Client11send_headerEiPKc"}, ("Client::send_header", "send_body")),
], ids=["Rust, legacy and v0", "Nim", "C that looks like Nim", "C++ with ( in names", "C++"])
def test_names_are_as_in_their_source(folder, tmp_path, symbols, names):
    """A program that has the symbols of a compiler of another language; one of Nim has a NimMain."""
    command = ["objcopy", "--strip-debug", *(f"--redefine-sym={old}={new}" for old, new in symbols.items())]
    subprocess.run([*command, compile_c(SOURCE), tmp_path / "client"], check=True)
    run_authors(tmp_path / "client", folder)
    text = told(folder)
    assert f"is written by {names[0]} in client; the second (100 bytes) by {names[1]} in client" in text


def test_a_library_is_named_with_its_caller(folder, tmp_path):
    library = tmp_path / "libtalk.so"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-g", "-shared", "-fPIC", "-Dmain=talk", "-o", library,
                    SOURCE],
                   check=True)
    main = tmp_path / "main.c"
    main.write_text("int talk(int, char **);\n"
                    "int main(int argc, char **argv) { return talk(argc, argv) + 0 * argc; }\n")
    subprocess.run(["gcc", "-O0", "-g", main, "-o", tmp_path / "app", library, f"-Wl,-rpath,{tmp_path}"],
                   check=True)
    run_authors(tmp_path / "app", folder)
    text = told(folder)
    assert (f"send_header (two_authors.c:{line_of('header')}) in libtalk.so, "
            "called from main (main.c:2) in app") in text


def test_stacks_can_be_forbidden(folder):
    run_authors(compile_c(SOURCE), folder, UNSTALL_STACKS="0")
    text = told(folder)
    assert "loses" in text
    assert "Who wrote" not in text


def test_a_script_is_not_blamed_on_its_interpreter(peer, folder):
    subprocess.run(["/usr/bin/python3", STALLER, *peer.target, "5"], check=True, timeout=30,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   env=preload_env("observe", UNSTALL_STATS=folder))
    text = told(folder)
    assert re.search(r"are written by what python3[.0-9]* interprets", text)
    assert "look there for two writes in a row, and join them" in text
    advice = ("py-spy (pip install py-spy) names functions and lines of Python: "
              "unstall observe --who -- python3")
    page = unstall("report", "--html", "-", folder, check=True).stdout
    assert advice in text and f"<p>{advice}" in page  # once the page had none


def test_the_lines_of_the_program_that_stalls_are_asked_for(folder):
    """It named the first program of the folder, which was cured."""
    with started_talker("--stats", folder, "--mode", "nodelay") as cured:
        cured.talk()
        with started_talker("--stats", folder, "--mode", "observe") as stalls:
            assert stalls.stalls()
            assert f"unstall observe --who {stalls.pid}" in " ".join(told(folder).split())


def test_code_in_no_module_is_said_to_be_a_jits(tmp_path):
    path = make_stats_file(tmp_path / "x.unstall",
                        STALLING + "pattern 1 7f0000001000 7f0000002000 96 96 4200000000\n")
    assert "JIT or interpreter code (at 0x7f0000000fff)" in told(path)


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/kmsg", "/no/such/file", "[vdso]", "...cut/lib.so"])
def test_a_module_may_have_any_path(tmp_path, path):
    table = STALLING + f"module 1000 9000 0 aabb {path}\npattern 1 2000 3000 96 96 4200000000\n"
    assert "the file no longer exists" in told(make_stats_file(tmp_path / "x.unstall", table))


def test_no_server_is_asked(folder, tmp_path):
    """debuginfod would tell others which programs run here: a query names each file without symbols."""
    binary = tmp_path / "talker"
    subprocess.run(["strip", "-o", binary, compile_c(SOURCE)], check=True)
    run_authors(binary, folder)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert "code at talker+0x" in told(folder, bare_env(DEBUGINFOD_URLS=url))
        with pytest.raises(TimeoutError):
            server.accept()
