# SPDX-License-Identifier: MIT
"""unstall run: the program in its place, with the library before it."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from talkers import TRIES, typical

from harness import (BUILD_ROOT, COMMAND, CURING_MODES, LIB, SOURCE_ROOT, AnsweringPeer, bare_env, compile_c,
                     is_loaded, pattern, program, request_all, run, run_strace, spawned, unstall)

PRINT_PRELOAD = ["/bin/sh", "-c", 'echo "$LD_PRELOAD"']
PRINT_ENVIRONMENT = ["/usr/bin/python3", "-S", "-c", "import os, json; print(json.dumps(dict(os.environ)))"]
EXCHANGES = 12


# ---- cured -----------------------------------------------------------------

def exchanges(*words, client="put_write", env=None):
    """The measurements of a stalling client, started by `unstall run WORD...`."""
    with AnsweringPeer() as peer:
        done = unstall("run", *words, "--", program(client), *peer.target, EXCHANGES, check=True, env=env)
    assert bytes(peer.connections[0].received) == pattern(EXCHANGES * 300)
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["loaded"]
    return typical(facts["us"]) / 1000


def comes_to_stall(*words, **env):
    """Whether it does: where the machine pauses between two writes, not at once, but soon."""
    return any(exchanges(*words, **env) > 20 for _ in range(TRIES))


@pytest.mark.parametrize("words", [[], *(["--mode", mode] for mode in CURING_MODES)], ids=" ".join)
def test_it_is_cured_in_the_mode_asked_for(words):
    assert exchanges(*words) < 20


@pytest.mark.parametrize("words", [["--mode", "off"], ["--mode=observe"], ["--ports", "!1-65535"],
                                   ["--peers=!127.0.0.0/8"], ["--programs", "other"]])
def test_it_stalls_where_the_options_say_so(words):
    assert comes_to_stall(*words)


def test_a_server_is_cured():
    words = [str(word) for word in (COMMAND, "run", program("server_accept"))]
    with spawned(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as server:
        port, loaded = server.stdout.readline().split()
        assert loaded == "loaded"
        assert typical(request_all(int(port), EXCHANGES).us) / 1000 < 20
        assert server.wait(20) == 0


def test_options_win_over_the_callers_variables():
    assert exchanges("--mode", "auto", env=bare_env(UNSTALL_MODE="off")) < 20
    assert comes_to_stall(env=bare_env(UNSTALL_MODE="off"))


def test_children_run_bare_if_so_asked():
    words = ["/bin/sh", "-c", 'sh -c "cat /proc/self/maps"']
    assert "libunstall" in unstall("run", *words).stdout
    assert "libunstall" not in unstall("run", "--no-children", *words).stdout


# ---- LD_PRELOAD ------------------------------------------------------------

def test_the_library_of_the_build_is_preloaded():
    assert unstall("run", *PRINT_PRELOAD, check=True).stdout == f"{LIB}\n"


OWN = compile_c(Path(__file__).parent / "programs/own_preload.c", "-shared", "-fPIC")

# the caller's LD_PRELOAD -> the program's
PRELOADS = {
    "": "{lib}",
    "{own}": "{own}:{lib}",
    "{own}:{own}": "{own}:{own}:{lib}",
    " {own} ": "{own}:{lib}",
    "{lib}": "{lib}",
    "{lib}:{own}": "{own}:{lib}",
    "libunstall.so {own}": "{own}:{lib}",
    "/elsewhere/libunstall.so:{own}": "{own}:{lib}",
}


@pytest.mark.parametrize("before", PRELOADS)
def test_the_callers_own_preload_is_kept(before):
    # as an argument of env(1): the command itself must not complain about a missing library
    names = {"own": OWN, "lib": LIB}
    done = run(["/usr/bin/env", f"LD_PRELOAD={before.format(**names)}", COMMAND, "run", *PRINT_PRELOAD],
               bare_env())
    assert done.stdout == PRELOADS[before].format(**names) + "\n"


def test_the_callers_own_preload_still_works():
    done = unstall("run", "/bin/cat", "/proc/self/maps", env=bare_env(LD_PRELOAD=OWN))
    assert done.stderr == "own preload\n" * 2  # once in the command, once in the program
    assert "libunstall.so" in done.stdout and OWN.name in done.stdout


def test_a_library_that_is_named_is_taken(tmp_path):
    other = shutil.copy(LIB, tmp_path / "other.so")
    assert unstall("run", "--library", other, *PRINT_PRELOAD).stdout == f"{other}\n"
    assert unstall("run", "--library=other.so", *PRINT_PRELOAD, cwd=tmp_path).stdout == f"{other}\n"


@pytest.mark.parametrize("name, message", [
    ("none.so", "--library none.so: No such file or directory; give the path of libunstall.so"),
    ("text.so", "{folder}/text.so: is not a shared library; build and install it again"),
    ("with space.so",
     "{folder}/with space.so: its path has a space or colon, which LD_PRELOAD cannot express; "
                      "name another copy: --library FILE"),
])
def test_a_library_that_cannot_be_preloaded_is_refused(name, message, tmp_path):
    (tmp_path / "text.so").write_text("no library")
    shutil.copy(LIB, tmp_path / "with space.so")
    done = unstall("run", "--library", name, "true", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (125, f"unstall run: {message.format(folder=tmp_path)}\n")


def test_a_library_on_a_mount_without_exec_is_refused(folder):
    copy = shutil.copy(LIB, folder)
    mounted = os.statvfs(folder).f_flag & os.ST_NOEXEC
    done = unstall("run", "--library", copy, "true")
    if mounted:  # /dev/shm is so in many places, not in all
        assert "lies on a mount without exec" in done.stderr
    assert done.returncode == (125 if mounted else 0)


def test_without_the_library_it_says_so(tmp_path):
    copy = shutil.copy(COMMAND, tmp_path / "unstall")
    done = run([copy, "run", "true"], bare_env(), check=False)
    if done.returncode == 0:
        return  # it is installed on this machine, and has been found there
    assert done.returncode == 125
    assert re.fullmatch(r"unstall run: libunstall\.so: neither beside the command nor in \S+; "
                        r"install it \(meson install\), or name it: --library FILE\n", done.stderr)


def test_an_experiment_takes_the_library_that_is_named(tmp_path):
    """It asked for an installed one all the same."""
    copy = shutil.copy(COMMAND, tmp_path / "unstall")
    (tmp_path / "analysis").symlink_to(BUILD_ROOT / "src/cli/analysis")
    done = run([copy, "ab", "--library", LIB, "--rounds", "2", "--", "true"], bare_env(), check=False)
    assert "libunstall.so" not in done.stderr and "2 rounds" in done.stdout


def test_the_library_beside_the_command_is_found(tmp_path):
    copy = shutil.copy(COMMAND, tmp_path / "unstall")
    beside = shutil.copy(LIB, tmp_path / "libunstall.so")
    assert run([copy, "run", *PRINT_PRELOAD], bare_env()).stdout == f"{beside}\n"
    (tmp_path / "link").symlink_to(copy)
    assert run([tmp_path / "link", "run", *PRINT_PRELOAD], bare_env()).stdout == f"{beside}\n"


# ---- options -> variables --------------------------------------------------

VARIABLES = {
    ("--mode", "cork"): ("UNSTALL_MODE", "cork"),
    ("--window", "2000"): ("UNSTALL_WINDOW_US", "2000"),
    ("--small", "100"): ("UNSTALL_SMALL", "100"),
    ("--thread", "never"): ("UNSTALL_THREAD", "never"),
    ("--nodelay", "always"): ("UNSTALL_NODELAY", "always"),
    ("--override",): ("UNSTALL_OVERRIDE", "1"),
    ("--ports", "80,8000-8999,!8443"): ("UNSTALL_PORTS", "80,8000-8999,!8443"),
    ("--peers", "10.0.0.0/8,!10.1.0.0/16,::1"): ("UNSTALL_PEERS", "10.0.0.0/8,!10.1.0.0/16,::1"),
    ("--programs", "python3,!java"): ("UNSTALL_PROGRAMS", "python3,!java"),
    ("--no-children",): ("UNSTALL_CHILDREN", "0"),
    ("--report", "stderr"): ("UNSTALL_REPORT", "stderr"),
    ("--report", "/tmp/x.%p.json"): ("UNSTALL_REPORT", "/tmp/x.%p.json"),
    ("--report", "x.json"): ("UNSTALL_REPORT", "{here}/x.json"),
    ("--log", "log"): ("UNSTALL_LOG", "{here}/log"),
    ("--verbose", "1"): ("UNSTALL_VERBOSE", "1"),
    ("--quickack", "auto"): ("UNSTALL_QUICKACK", "auto"),
    ("--no-stacks",): ("UNSTALL_STACKS", "0"),
}


@pytest.mark.parametrize("option", VARIABLES, ids=" ".join)
def test_an_option_becomes_a_variable(option, tmp_path):
    name, value = VARIABLES[option]
    forms = [option] + ([["=".join(option)]] if len(option) == 2 else [])
    for form in forms:
        # without the mode's effect on python itself: only the environment is looked at
        done = unstall("run", *form, "/usr/bin/env", cwd=tmp_path, check=True)
        assert f"{name}={value.format(here=tmp_path)}" in done.stdout.splitlines()


def test_each_variable_of_the_library_has_its_option():
    """Except the settings of experiments, which `ab` and `set` begin."""
    values = (SOURCE_ROOT / "src/preload/config/config.c").read_text()
    known = set(re.findall(r'VARIABLE\("(UNSTALL_\w+)"', values))
    assert known - {"UNSTALL_ARMS", "UNSTALL_ASSIGN", "UNSTALL_SEED"} == \
        {name for name, _ in VARIABLES.values()} | {"UNSTALL_STATS"}


def test_nothing_else_is_added_to_the_environment():
    before = bare_env(WORD="a b")
    after = json.loads(unstall("run", *PRINT_ENVIRONMENT, env=before, check=True).stdout)
    assert after.pop("LD_PRELOAD") == str(LIB)
    assert {name: value for name, value in after.items() if name != "LC_CTYPE"} == \
        {name: value for name, value in before.items() if name != "LC_CTYPE"}


BAD = {
    ("--mode", "fast"): "--mode fast: expected off, observe, nodelay, cork, coalesce or auto",
    ("--mode=",): "--mode : expected off, observe, nodelay, cork, coalesce or auto",
    ("--window", "1m"): "--window 1m: expected microseconds, a whole number from 500 to 100000, or a time "
                        "as 2ms",
    ("--small", "0"): "--small 0: expected bytes, a whole number from 1 to 65536, or a size as 16k",
    ("--nodelay", "never"): "--nodelay never: expected late or always",
    ("--ports", "80-"): "--ports 80-: expected up to 32 ports or ranges, as in 80,8000-8999,!8443",
    ("--peers", "10.0.0.0/33"): "--peers 10.0.0.0/33: expected up to 32 addresses or prefixes, "
                                "as in 10.0.0.0/8,!10.1.0.0/16,::1",
    ("--programs",
     "/bin/sh"): "--programs /bin/sh: expected names of programs without a path, as in python3,!java",
    ("--report", ""): "--report : expected stderr or the name of a file, as in /tmp/unstall.%p.json",
    ("--report", "-"): "--report -: expected stderr or the name of a file, as in /tmp/unstall.%p.json",
    ("--verbose", "3"): "--verbose 3: expected 0, 1 or 2",
    ("--quickack", "no"): "--quickack no: expected off, auto or always",
    ("--mode",): "--mode: needs a value; try --help",
    ("--mode", "--"): "--mode: needs a value; try --help",
    ("--override=1",): "--override=1: takes no value; try --help",
    ("-m", "auto"): "-m: no such option; try --help",
    ("--mod", "auto"): "--mod: no such option; did you mean --mode? (--help lists all)",
}


@pytest.mark.parametrize("words", BAD, ids=" ".join)
def test_a_bad_option_is_refused(words):
    done = unstall("run", *words, *(["true"] if words[-1] != "--mode" else []))
    assert (done.returncode, done.stdout, done.stderr) == (125, "", f"unstall run: {BAD[words]}\n")


def test_a_folder_for_statistics_that_the_library_would_not_take_is_refused(folder):
    way = "; make one by mkdir -m 700 /dev/shm/unstall\n"

    def refused(folder):
        done = unstall("run", "--stats", folder, "true")
        assert done.returncode == 125
        assert done.stderr.endswith(way)
        return done.stderr.removesuffix(way)

    assert unstall("run", "--stats", folder.name, "/usr/bin/env", cwd=folder.parent).stdout.count(
        f"UNSTALL_STATS={folder}\n") == 1
    (folder / "link").symlink_to(folder)
    (folder / "file").touch()
    assert refused(folder / "none") == f"unstall run: --stats {folder}/none: No such file or directory"
    assert refused(folder / "link") == f"unstall run: --stats {folder}/link: is not a directory"
    assert refused(folder / "file") == f"unstall run: --stats {folder}/file: is not a directory"
    folder.chmod(0o770)
    assert "must belong to you, and no other user may write to it" in refused(folder)
    assert "is not on tmpfs" in refused(COMMAND.parent)


def test_what_follows_the_program_is_its_own():
    done = unstall("run", "echo", "--mode", "--help", "--", "x", check=True)
    assert done.stdout == "--mode --help -- x\n"
    assert unstall("run", "--", "echo", "--", check=True).stdout == "--\n"


# ---- in place --------------------------------------------------------------

@pytest.mark.parametrize("script, code", [
    *((f"exit {code}", code) for code in (0, 1, 77, 125, 255)),
    *((f"ulimit -c 0; kill -{int(number)} $$", -number)
      for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV))])
def test_the_exit_code_or_the_signal_is_the_programs(script, code):
    assert unstall("run", "--", "/bin/sh", "-c", script).returncode == code


def test_the_program_takes_the_place_of_the_command():
    child = subprocess.Popen([COMMAND, "run", "/bin/cat"], env=bare_env(), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    child.stdin.write(b"ready")
    child.stdin.flush()
    assert child.stdout.read(5) == b"ready"
    assert os.readlink(f"/proc/{child.pid}/exe") == os.path.realpath("/bin/cat")
    assert is_loaded(child.pid)
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == -signal.SIGTERM
    child.stdin.close()
    child.stdout.close()


def test_what_the_caller_ignores_and_blocks_the_program_ignores_and_blocks():
    text = "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN," \
           "signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL, signal.pthread_sigmask(0, []))"
    words = ["/usr/bin/python3", "-S", "-c", text]
    bare = run(["env", "--ignore-signal=INT", "--block-signal=USR1", *words], bare_env()).stdout
    ours = run(["env", "--ignore-signal=INT", "--block-signal=USR1", COMMAND, "run", *words],
               bare_env()).stdout
    assert ours == bare


def test_descriptors_go_through():
    read, write = os.pipe()
    unstall("run", "/bin/bash", "-c", f"echo through >&{write}", check=True, pass_fds=[write])
    os.close(write)
    assert os.read(read, 100) == b"through\n"
    os.close(read)


def test_nothing_is_written_to_disk(tmp_path):
    trace = run_strace([COMMAND, "run", "/bin/true"], bare_env(), cwd=tmp_path)
    opened = [call for call in trace.calls
              if call.name in ("open", "openat", "creat", "mkdir", "unlink", "rename")]
    assert opened
    assert not [call for call in opened if re.search(r"O_(WRONLY|RDWR|CREAT)", call.args)
                or call.name != "openat"]
    assert list(tmp_path.iterdir()) == []
