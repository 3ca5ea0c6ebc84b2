# SPDX-License-Identifier: MIT
"""unstall run --how preload refuses where a preload cannot work: it names program, reason and way out."""

import os
import shutil

import pytest
import specimens
from specimens import script

from harness import (AS_NOBODY, COMMAND, LIB, NOBODY, bare_env, command_of_everybody, need_namespaces,
                     need_root, run, unstall)

SUPERVISED = "unstall run cures it under a seccomp supervisor"
STATIC = f"it is statically linked, so nothing can be preloaded; {SUPERVISED}"
GO = ("it is written in Go, which makes network calls without libc; Go sets TCP_NODELAY by default: "
      f"look for SetNoDelay(false) in it; {SUPERVISED}")

# specimen -> the words behind the program's name
REFUSED = {
    specimens.static: STATIC,
    specimens.static_pie: STATIC.replace("linked,", "linked (static-pie),"),
    specimens.musl_static: STATIC,
    specimens.go_by_note: GO,
    specimens.go_by_section: GO,
    specimens.other_machine: "it is made for ELF machine 43, the library for ",
    specimens.of_32_bits: "it is made for 32-bit x86, the library for ",
    specimens.of_another_libc: "its dynamic linker /usr/bin/true is neither glibc's nor musl's; "
                               "use unstall run --how seccomp, or try it with --force",
    specimens.setuid: "it is setuid to nobody, and ld.so ignores LD_PRELOAD in programs that gain rights; "
                      "start it as nobody already",
    specimens.setgid: "it is setgid to nogroup, and ld.so ignores LD_PRELOAD in programs that gain rights; "
                      "start it as nogroup already",
    specimens.sanitized: "its AddressSanitizer ends it if another library is loaded first; "
                         "set ASAN_OPTIONS=verify_asan_link_order=0",
}
FORCE = " (--force starts it anyway)\n"


@pytest.mark.parametrize("specimen", REFUSED, ids=lambda specimen: specimen.__name__)
def test_refused(specimen, tmp_path):
    binary = specimen(tmp_path)
    done = unstall("run", "--how", "preload", binary)
    assert done.returncode == 125
    assert done.stdout == ""
    assert done.stderr.startswith(f"unstall run: {binary}: {REFUSED[specimen]}")
    assert done.stderr.endswith(FORCE)


@pytest.mark.parametrize("specimen", [specimens.static, specimens.static_pie, specimens.go_by_note,
                                      specimens.go_by_section, specimens.setuid, specimens.setgid])
def test_force_goes_on_nevertheless(specimen, tmp_path):
    done = unstall("run", "--force", specimen(tmp_path))
    assert (done.returncode, done.stdout) == (0, "hello\n")


@pytest.mark.parametrize("specimen", [specimens.plain, specimens.musl], ids=["glibc", "musl"])
def test_not_refused(specimen, tmp_path):
    done = unstall("run", specimen(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")


def test_a_sanitized_program_runs_with_the_option_that_the_refusal_names(tmp_path):
    env = bare_env(ASAN_OPTIONS="verify_asan_link_order=0")
    assert unstall("run", specimens.sanitized(tmp_path), env=env, check=True).stdout == "hello\n"


def test_real_programs_in_go():
    """The crafted ones above look like the real ones, where this machine has some."""
    for binary in filter(None, map(shutil.which, ("go", "gofmt"))):
        done = unstall("run", "--how=preload", binary)
        assert done.stderr == f"unstall run: {binary}: {GO}{FORCE}"


# ---- rights ----------------------------------------------------------------

@pytest.fixture(name="open_folder")
def an_open_folder():
    """The command and its library where anybody may run them, which is not so below tmp_path."""
    with command_of_everybody(LIB) as command:
        yield command.parent


def by_nobody(folder, program):
    return run([folder / COMMAND.name, "run", program], bare_env(), check=False, **AS_NOBODY)


def test_file_capabilities_are_refused_for_who_gains_by_them(open_folder):
    need_root(specimens.SETUID)
    binary = specimens.copy(open_folder, "capable")
    os.setxattr(binary, "security.capability", specimens.CAP_NET_RAW)
    assert "it has file capabilities, and ld.so ignores" in by_nobody(open_folder, binary).stderr
    assert "AmbientCapabilities=" in by_nobody(open_folder, binary).stderr
    assert unstall("run", binary, check=True).stdout == "hello\n"  # root has them anyway


def test_setuid_is_no_obstacle_for_the_user_that_it_is_setuid_to(open_folder):
    need_root(specimens.SETUID)
    binary = specimens.copy(open_folder, "mine")
    os.chown(binary, NOBODY, NOBODY)
    binary.chmod(0o6755)
    assert by_nobody(open_folder, binary).stdout == "hello\n"


def test_setuid_is_no_obstacle_where_the_kernel_ignores_it(tmp_path):
    binary = specimens.setuid(tmp_path)
    done = run(["setpriv", "--no-new-privs", COMMAND, "run", "/bin/sh", "-c", 'echo "$LD_PRELOAD"'],
               bare_env())
    assert str(LIB) in done.stdout
    done = run(["setpriv", "--no-new-privs", COMMAND, "run", binary], bare_env())
    assert (done.stdout, done.stderr) == ("hello\n", "")


def test_setuid_is_no_obstacle_on_a_mount_that_ignores_it(tmp_path):
    binary = specimens.setuid(tmp_path)
    place = tmp_path / "place"
    place.mkdir()
    words = (f"mount -t tmpfs -o nosuid none {place} && cp -p {binary} {place} && "
             f"exec {COMMAND} run {place}/setuid")
    need_namespaces("--mount")
    done = run(["unshare", "--mount", "sh", "-c", words], bare_env())
    assert (done.stdout, done.stderr) == ("hello\n", "")


def test_what_may_not_be_read_is_run(open_folder):
    need_root(specimens.SETUID)
    binary = specimens.copy(open_folder, "secret")
    binary.chmod(0o711)
    os.chown(binary, 0, 0)
    done = by_nobody(open_folder, binary)
    assert (done.stdout, done.stderr) == ("hello\n", "")


# ---- missing and not executable --------------------------------------------

MISSING = {
    "by name": (["no-such-program"], 127, "no-such-program: no such program; give its path, or check $PATH"),
    "by path": (["/nonexistent/program"], 127, "/nonexistent/program: no such program; check the path"),
    "below a file": (["/etc/passwd/x"], 126, "/etc/passwd/x: cannot be run: Not a directory"),
    "empty": ([""], 127, ": no such program; give its path, or check $PATH"),
    "a folder": (["/usr"], 126, "/usr: cannot be run: Is a directory"),
    "not executable": (["/etc/passwd"], 126, "/etc/passwd: cannot be run: Permission denied"),
    "none": ([], 125, "no PROGRAM given; try --help"),
    "none behind --": (["--"], 125, "no PROGRAM given; try --help"),
}


@pytest.mark.parametrize("case", MISSING)
def test_missing(case):
    words, code, message = MISSING[case]
    done = unstall("run", *words)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"unstall run: {message}\n")


def test_the_exit_codes_are_those_of_env():
    for words, code, _ in list(MISSING.values())[:6]:
        assert run(["/usr/bin/env", *words], bare_env(), check=False).returncode == code


def test_not_executable_in_path_is_found_and_told(tmp_path):
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    env = bare_env(PATH=tmp_path)
    done = unstall("run", "tool", env=env)
    assert done.returncode == 126
    assert done.stderr == f"unstall run: {tmp_path}/tool: cannot be run: Permission denied\n"


def test_a_later_folder_of_path_has_an_executable_one(tmp_path):
    for name, mode in (("first", 0o644), ("second", 0o755)):
        (tmp_path / name).mkdir()
        script(tmp_path / name, "tool", f"#!/bin/sh\necho {name}\n").chmod(mode)
    env = bare_env(PATH=f"{tmp_path}/none:{tmp_path}/first:{tmp_path}/second")
    assert unstall("run", "tool", env=env, check=True).stdout == "second\n"


@pytest.mark.parametrize("path", ["", "::/usr/bin", "/usr/bin:"])
def test_an_empty_entry_of_path_is_this_folder(path, tmp_path):
    script(tmp_path, "tool", "#!/bin/sh\necho here\n")
    assert unstall("run", "tool", env=bare_env(PATH=path), cwd=tmp_path, check=True).stdout == "here\n"


def test_without_path_the_usual_folders_are_searched():
    env = {name: value for name, value in bare_env().items() if name != "PATH"}
    assert unstall("run", "echo", "found", env=env, check=True).stdout == "found\n"


def test_a_program_whose_dynamic_linker_is_missing(tmp_path):
    done = unstall("run", specimens.without_its_linker(tmp_path))
    assert done.returncode == 127
    assert "its dynamic linker /nonexistent/ld-linux-x86-64.so.2 is not installed" in done.stderr
    assert "install the libc that it was made for" in done.stderr


# ---- scripts ---------------------------------------------------------------

def linked(folder, specimen, name):
    """The specimen by a short name: a #! line has room for 256 characters."""
    target = folder / name
    shutil.copy2(specimen(folder), target)
    return target


RUNNABLE = {
    "shell": "#!/bin/sh\necho ran $1\n",
    "a blank before the path": "#! /bin/sh\necho ran $1\n",
    "an option": "#!/bin/sh -e\necho ran $1\n",
    "env": "#!/usr/bin/env sh\necho ran $1\n",
    "env -S": "#!/usr/bin/env -S LANG=C sh -e\necho ran $1\n",
    "python": "#!/usr/bin/python3 -Es\nimport sys\nprint('ran', sys.argv[1])\n",
    "perl by env": "#!/usr/bin/env -S perl -w\nprint 'ran ', $ARGV[0], \"\\n\";\n",
    "without a first line": "echo ran $1\n",
    "with the library": "#!/bin/sh\ngrep -q libunstall /proc/$$/maps && echo ran $1\n",
}


@pytest.mark.parametrize("case", RUNNABLE)
def test_a_script_runs(case, tmp_path):
    path = script(tmp_path, "tool", RUNNABLE[case])
    done = unstall("run", path, "word")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran word\n", "")


@pytest.mark.parametrize("line", ["#!{}", "#! {} -x", "#!/usr/bin/env {}", "#!/usr/bin/env -S A=1 {} -x",
                                  "#!/usr/bin/env -S -u LANG '{}'", "#!/usr/bin/env --split-string={} -x"])
def test_a_script_for_what_a_preload_cannot_reach_is_refused(line, tmp_path):
    interpreter = linked(tmp_path, specimens.static, "static")
    path = script(tmp_path, "tool", line.format(interpreter) + "\n")
    done = unstall("run", "--how", "preload", path)
    assert done.returncode == 125
    assert done.stderr == f"unstall run: {path}, run by {interpreter}: {STATIC}{FORCE}"


def test_a_script_for_a_script_for_a_static_program_is_refused(tmp_path):
    interpreter = linked(tmp_path, specimens.static, "static")
    first = script(tmp_path, "first", f"#!{interpreter}\n")
    second = script(tmp_path, "second", f"#!{first}\n")
    assert f"{second}, run by {interpreter}: {STATIC}" in unstall("run", "--how=preload", second).stderr


NO_INTERPRETER = "is a script for {}: no such program; install it, or correct the first line\n"


@pytest.mark.parametrize("text, code, said", [
    ("#!/usr/bin/env -S -i sh\n", 125, "its first line has env -i, which removes LD_PRELOAD"),
    ("#!/nonexistent/sh\n", 127, NO_INTERPRETER.format("/nonexistent/sh")),
    ("#!/usr/bin/env no-such-tool\n", 127, NO_INTERPRETER.format("no-such-tool")),
    ("#!/bin/sh\r\n", 127, "is a script for /bin/sh?: no such program"),  # line ends of another system
    ("#!{tool}\n", 126, "is a script for {tool}: cannot be run: Too many levels of symbolic links\n"),
    ("\0\1\2", 125, "it is neither an ELF program nor a script"),
])
def test_a_script_that_cannot_run_is_refused(text, code, said, tmp_path):
    path = script(tmp_path, "tool", text.format(tool=tmp_path / "tool"))
    done = unstall("run", path)
    assert done.returncode == code
    assert done.stderr.startswith(f"unstall run: {path}: {said.format(tool=path)}")


def test_what_a_terminal_would_obey_is_not_passed_on():
    done = unstall("run", "\x1b[31m\n")
    assert done.stderr == "unstall run: ?[31m?: no such program; give its path, or check $PATH\n"


def test_what_is_no_program_is_left_to_the_kernel_by_force(tmp_path):
    path = script(tmp_path, "tool", "\0\1\2")
    done = unstall("run", "--force", path)
    assert (done.returncode, done.stderr) == (126, f"unstall run: {path}: cannot be run: Exec format error\n")


# ---- programs that start others elsewhere ----------------------------------

@pytest.mark.parametrize("name, way",
                         [("sudo", "sudo unstall run -- PROGRAM"), ("docker", "-e LD_PRELOAD=FILE"),
                                       ("systemctl", "unstall enable SERVICE")])
def test_what_starts_programs_elsewhere_is_refused(name, way, tmp_path):
    path = script(tmp_path, name, "#!/bin/sh\n")
    done = unstall("run", path)
    assert done.returncode == 125
    assert way in done.stderr


@pytest.mark.parametrize("length", [1, 3, 18, 20, 40, 64, 100, 500])
def test_a_damaged_program_is_no_reason_to_crash(length, tmp_path):
    path = tmp_path / "tool"
    path.write_bytes(specimens.plain(tmp_path).read_bytes()[:length])
    path.chmod(0o755)
    assert unstall("run", path).returncode in (125, 126, 127)
