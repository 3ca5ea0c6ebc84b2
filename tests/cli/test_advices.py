# SPDX-License-Identifier: MIT
"""What the command advises works as it is typed: the advices are taken from its output, and run."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess

import pytest

from harness import (COMMAND, LIB, SOURCE_ROOT, bare_env, cgroup, compile_c, need_namespaces, need_root,
                     preload_env, run, spawned, stats_directory, unstall)
from stats_files import PROGRAMS
from talkers import STALLER, staller, talking_server

REFUSED = 125  # the command line is wrong, or cannot work


def advised(text):
    """The words of the commands behind "Next:", "or, as it runs:", "start a program with" and the like."""
    found = re.findall(r"(?:: |; |with |by |`)(unstall .*?)(?:`|$|; |\)|\.$|, or)", text, re.MULTILINE)
    return [shlex.split(command) for command in found]


def typed(words, *more, **how):
    """The outcome of an advised command, with the command that was built in the place of `unstall`."""
    words = [COMMAND if word == "unstall" else word for word in words]
    return run([*words, *more], bare_env(), check=False, timeout=60, **how)


def works(words, *more, **how):
    done = typed(words, *more, **how)
    assert done.returncode < REFUSED, f"{words}: {done.returncode}\n{done.stderr}"
    return done


# ---- folders for statistics ------------------------------------------------

def test_an_empty_folder_for_statistics_is_named_in_a_command_that_works():
    with stats_directory() as above:
        folder = above / "with a space"
        folder.mkdir(mode=0o700)
        done = unstall("report", folder)
        assert done.returncode == REFUSED
        (command,) = advised(done.stderr)
        assert command[:4] == ["unstall", "run", "--stats", str(folder)] and command[-1] == "PROGRAM"
        works(command[:-1], "true")


# What is at /dev/shm/unstall, and the way to a folder.
USUAL = {
    "true": "make one by mkdir -m 700 /dev/shm/unstall",
    "mkdir -m 700 /dev/shm/unstall": "take /dev/shm/unstall",
    "mkdir -m 777 /dev/shm/unstall": "make one by mktemp -d -p /dev/shm",
    "mkdir -m 700 /dev/shm/unstall && chown 65534 /dev/shm/unstall": "make one by mktemp -d -p /dev/shm",
}


@pytest.mark.parametrize("there", USUAL)
def test_of_a_folder_that_can_have_none_another_is_advised_that_can(there, tmp_path):
    """`report FOLDER` advised `run --stats FOLDER`, which run refuses; and both to make a folder that is
    there already."""
    need_root("may have another /dev/shm")
    made = USUAL[there].partition(" by ")[2]
    script = (f"mount -t tmpfs none /dev/shm && {there}\n{COMMAND} report {tmp_path}\n"
              f"{COMMAND} run --stats {tmp_path} true\nfolder=$({made or 'true'})\n"
              f"{COMMAND} run --stats ${{folder:-/dev/shm/unstall}} echo works")
    done = run(["unshare", "-m", "sh", "-c", script], bare_env(), check=False, timeout=60)
    first, second = done.stderr.splitlines()
    why = "is not on tmpfs, and writing pages back to a disk could block the program"
    assert first == (f"unstall report: {tmp_path}: no statistics files, and it can have none: it {why}; "
                     f"{USUAL[there]}")
    assert second == f"unstall run: --stats {tmp_path}: {why}; {USUAL[there]}"
    assert done.stdout == "works\n"


@pytest.mark.parametrize("words", [["report"], ["metrics"], ["top", "--once"], ["set"]], ids=" ".join)
def test_a_folder_that_can_have_none_is_refused_by_each_verb(words, tmp_path):
    """`metrics` and `top --once` of a mistyped folder said nothing, with 0."""
    done = unstall(*words, tmp_path, check=False)
    assert (done.returncode, done.stdout) == (125, "")
    assert "no statistics files, and it can have none: it is not on tmpfs" in done.stderr


def test_an_empty_folder_of_another_user_can_have_some(folder):
    """To root it was one that "can have none: it must belong to you"."""
    need_root("makes a folder of another user")
    os.chown(folder, 65534, 65534)
    done = unstall("report", folder, check=False)
    words = "no statistics files; its owner can start a program with unstall run"
    assert done.stderr == f"unstall report: {folder}: {words} --stats {folder} -- PROGRAM\n"


# ---- reports ----------------------------------------------------------------

@contextlib.contextmanager
def client(folder, peer, where, mode="observe"):
    """A script that was started by its relative path, has stalled, and runs on."""
    shutil.copy(STALLER, where / "client.py")
    with staller(folder, peer, 8, mode, "client.py", cwd=where) as process:
        yield process


def test_each_advice_of_a_report_works(peer, folder, tmp_path):
    """The program was started elsewhere, by a path that leads nowhere from here; and --who lacked the
    process."""
    with client(folder, peer, tmp_path) as process:
        text = unstall("report", process.pid, check=True, env=bare_env(COLUMNS="1000")).stdout
        commands = advised(" ".join(text.split()).replace(" or, as it runs:", "\n or, as it runs:")
                           .replace("Next:", "\nNext:"))
        assert [words[1] for words in commands] == ["observe", "run", "set"]
        who, again, switch = commands
        assert who[2:] == ["--who", str(process.pid)] and str(tmp_path / "client.py") in again
        works(who, "--time", "0.2")
        works(switch, "--wait", "0")
    again[-3:] = [*peer.target, "2"]
    assert works(again, cwd="/").stdout == "done\n"


# Another root with the same files, as that of a container.
CONTAINED = """mount -t tmpfs none /mnt
for folder in /*/; do
    test $folder = /mnt/ || { mkdir /mnt$folder && mount --rbind $folder /mnt$folder; }
done
mkdir /mnt/old && pivot_root /mnt /mnt/old && exec "$@"
"""


def test_of_a_container_a_report_advises_what_is_typed_here(peer, folder):
    """It advised `unstall run -- ` and the command line that the process has inside."""
    need_namespaces("--mount")
    words = ["unshare", "--mount", "sh", "-ec", CONTAINED, "sh", "/usr/bin/python3", STALLER]
    with spawned([*words, *peer.target, "8"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                 env=preload_env("observe", UNSTALL_STATS=folder)) as process:
        assert "done\n" in iter(process.stdout.readline, "")
        commands = advised(unstall("report", process.pid).stdout.rpartition("\n\nNext")[2])
        assert commands == [["unstall", "set", str(process.pid), "auto"]]
        works(*commands, "--wait", "0")


def test_a_program_is_started_again_by_the_name_by_which_it_was(peer, folder, tmp_path):
    """Of redis-server, a link, it named redis-check-rdb, which is another program by its name."""
    shutil.copy(compile_c(PROGRAMS / "two_authors.c"), tmp_path / "check-rdb")
    (tmp_path / "server").symlink_to("check-rdb")
    run([tmp_path / "server", *peer.target, "8"], preload_env("observe", UNSTALL_STATS=folder))
    text = " ".join(unstall("report", folder).stdout.split())
    assert text.startswith("server (pid ") and text.endswith(f" -- {tmp_path}/server ..."), text
    assert re.search(r"is written by send_header \(two_authors\.c:\d+\) in check-rdb; ", text), text


# A tmpfs that nobody else sees, with the statistics, becomes the root.
CHANGED_ROOT = """import os, socket, sys
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
    one.sendall(b"a")
os.chroot(sys.argv[1])
print("done", flush=True)
sys.stdin.read()
"""


def test_of_a_root_in_mounts_of_its_own_the_statistics_are_found(tmp_path):
    """Its statistics file "cannot be reached; start the program anew"."""
    need_namespaces("--mount")
    (tmp_path / "inside").mkdir()
    script = f"""mount -t tmpfs none {tmp_path} && mkdir -p -m 700 {tmp_path}/inside
export LD_PRELOAD={LIB} UNSTALL_STATS={tmp_path}/inside && exec "$@" {tmp_path}"""
    with spawned(["unshare", "--mount", "sh", "-c", script, "sh", "/usr/bin/python3", "-c", CHANGED_ROOT],
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "done\n"
        assert unstall("report", process.pid).stdout.startswith("python3")


def test_of_a_service_a_report_advises_its_drop_in(peer, folder):
    """It advised to start its program by hand."""
    unit = f"unstall-advice-{os.getpid()}.service"
    with cgroup(unit) as (_, enter), staller(folder, peer, 8, preexec_fn=enter) as process:
        again, switch = advised(unstall("report", process.pid).stdout.rpartition("\n\nNext")[2])
        assert again == ["unstall", "enable", "--stats", "--mode", "auto", "--restart", unit]
        assert switch == ["unstall", "set", str(process.pid), "auto"]


def test_the_advice_of_a_report_in_mode_off_works(peer, folder, tmp_path):
    """It was to start another one under observe."""
    with client(folder, peer, tmp_path, "off") as process:
        (command,) = advised(unstall("report", process.pid, check=True).stdout.rpartition("\n\nNext")[2])
        assert command[1:] == ["set", str(process.pid), "observe"]
        works(command, "--wait", "0")
        unstall("set", process.pid, "--kill", "--wait", "0", check=True)
        (command,) = advised(unstall("report", process.pid, check=True).stdout.rpartition("\n\nNext")[2])
        assert command[1:] == ["set", "--unkill", str(process.pid)]
        works(command, "--wait", "0")


def test_of_a_server_an_experiment_is_advised_that_does_not_wait_for_its_end(folder):
    """`unstall ab -- SERVER` runs it again and again, to its end."""
    with talking_server("/usr/bin/python3", PROGRAMS / "two_authors.py",
                        env=preload_env("auto", UNSTALL_STATS=folder)) as server:
        text = ""
        for _ in range(100):
            text = unstall("report", server.pid).stdout
            if "Cured" in text:
                break
        (command,) = advised(text[text.index("To measure"):])
        assert command[1:] == ["ab", "--live", str(server.pid)]
        works(command, "--time", "1", "--quiet")


# ---- others -------------------------------------------------------------------

def test_a_sender_that_has_ended_is_not_to_be_inspected_by_its_id(peer):
    """The advice was `unstall doctor PID` of a process that was no more."""
    words = ["/usr/bin/python3", STALLER, *map(str, peer.target), "60"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL):
        text = unstall("scan", "--time", "6", "--port", str(peer.target[1])).stdout
    (command,) = advised(text[text.index("Next:"):])
    assert command[:3] == ["unstall", "observe", "--"] and command[3].startswith("python3")
    assert "no program" not in works([*command[:-1], "-V"]).stderr


def verbs():
    """Each verb, and the options that its help names."""
    overview = unstall("--help").stdout
    return {name: set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", unstall(name, "--help").stdout))
            for name in re.findall(r"^  ([a-z]+) ", overview, re.MULTILINE)}


def literals(path):
    """The texts in a source file of C; adjacent ones are one."""
    source = re.sub(r"/\*.*?\*/", " ", path.read_text("utf-8"), flags=re.DOTALL)
    for joined in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:[A-Z_]+\s*)?"(?:[^"\\\n]|\\.)*")*', source):
        yield "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined))


# These take their target from an option.
TARGETS = {"--list", "--all", "--port", "--unit", "--cgroup", "--container", "--live", "--merge"}
NEED_A_TARGET = {"run", "observe", "report", "explain", "doctor", "set", "enable", "attach", "ab"}


def mistakes(text, known):
    """What is wrong with the commands in a text.  "See unstall run --mode" is none."""
    for verb, rest in re.findall(r"(?<!see )\bunstall ([a-z]+)((?: (?!unstall\b)[^\s,;:()`]+)*)", text):
        if verb not in known:
            continue
        ours, program, _ = f"{rest} ".partition(" -- ")
        options = re.findall(r" (--[a-z][a-z-]*)", ours)
        for option in options:
            if option not in known[verb]:
                yield f"unstall {verb}{rest}: no option {option}"
        if options and verb in NEED_A_TARGET and not TARGETS & set(options) and \
                not program and re.fullmatch(r"(?: --[a-z-]+)+ ?", ours):
            yield f"unstall {verb}{rest}: no target"


def test_no_text_of_the_command_names_an_option_that_is_not_there_or_lacks_its_target():
    known = verbs()
    assert {"run", "attach", "ab", "report"} <= set(known) and len(known) > 14
    files = [*(SOURCE_ROOT / "src/cli").rglob("*.c"), *(SOURCE_ROOT / "src/stats_file").glob("*.c")]
    found = [f"{path.name}: {wrong}" for path in files for text in literals(path)
             for wrong in mistakes(text, known)]
    assert len(files) > 100 and found == []


@pytest.mark.parametrize("text, wrong", [
    ("Python: unstall observe --who", "unstall observe --who: no target"),
    ("start it with unstall run --stat DIR -- PROGRAM",
     "unstall run --stat DIR -- PROGRAM: no option --stat"),
    ("more; unstall report --json lists all", None), ("unstall attach --list", None),
    ("unstall run --mode auto -- x --odd", None),
])
def test_a_planted_mistake_is_found(text, wrong):
    assert list(mistakes(text, verbs())) == ([wrong] if wrong else [])
