# SPDX-License-Identifier: MIT
"""unstall set: another mode for a program that runs."""

import fcntl
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from talkers import STALLER, started_talker, typical

from harness import (AS_NOBODY, CURING_MODES, bare_env, command_of_everybody, control_of, need_namespaces,
                     need_root, preload_env, run, spawned, unstall)


@pytest.fixture(name="talker")
def a_talker(folder):
    # in nodelay nothing is held, so that nothing ticks and takes a change up between messages
    with started_talker("--stats", folder, "--mode", "nodelay") as talker:
        assert talker.talk() < 20
        yield talker


def name_of(talker):
    return f"{talker.pid} ({Path(os.readlink(f'/proc/{talker.pid}/exe')).name})"


def done(*words, **popen):
    """The answer of `unstall set WORD...`, which must succeed."""
    answer = unstall("set", *words, check=True, **popen)
    assert answer.stderr == ""
    return answer.stdout


def refused(*words, **popen):
    """The complaint of `unstall set WORD...`."""
    answer = unstall("set", *words, **popen)
    assert (answer.returncode, answer.stdout) == (125, "")
    return answer.stderr.removeprefix("unstall set: ")


def test_the_kill_switch_is_told_where_it_makes_a_mode_idle(talker):
    """It was "written; it takes effect": it did not, since --kill wins."""
    done(talker.pid, "--kill", "--wait", "0")
    assert talker.stalls()
    assert done(talker.pid, "nodelay", "--wait", "0").endswith(
        f"{name_of(talker)}: stays off: --kill is in force; take it back by unstall set --unkill "
        f"{talker.pid}\n")
    assert json.loads(done(talker.pid, "nodelay", "--wait", "0", "--json"))[0]["killed"] is True
    assert talker.stalls()
    assert "stays off" not in done(talker.pid, "--unkill", "--wait", "0")
    assert talker.talk() < 20
    assert json.loads(done(talker.pid, "--json"))[0]["killed"] is False


def test_the_mode_can_be_asked_for(talker):
    """There was no way: "nothing to set"."""
    assert done(talker.pid).startswith(f"{name_of(talker)}: mode nodelay, window ")
    told, = json.loads(done(talker.pid, "--json"))
    assert (told["outcome"], told["mode"]) == ("asked", "nodelay")
    done(talker.pid, "off", "--wait", "0")
    assert done(talker.pid).endswith("; a change waits for its next message\n")


# ---- it works --------------------------------------------------------------

def test_an_idle_program_takes_it_up_with_its_next_message(talker, folder):
    stats_file, = folder.glob("*.unstall")  # it can be named, too
    told = done(stats_file, "off", "--wait", "50")
    assert told == f"{name_of(talker)}: written; it takes effect when the next message begins\n"
    assert talker.stalls()
    assert done(talker.pid, "nodelay", "--wait", "0").endswith("message begins\n")
    assert talker.talk() < 20


def test_a_busy_program_has_taken_it_up_when_the_command_ends(talker):
    done(talker.pid, "off", "--wait", "0")
    assert talker.stalls()
    talker.begin(300)  # some 12 s, if nothing changed
    told = done(talker.pid, "auto", "--wait", "20000")
    assert told == f"{name_of(talker)}: mode off -> auto, window 1000 us\n"
    assert typical(talker.times()[-40:]) < 20


@pytest.mark.parametrize("word, mode", [*zip(CURING_MODES, CURING_MODES), ("started", "nodelay")])
def test_each_mode_that_cures_can_be_set(talker, word, mode):
    done(talker.pid, "off", "--wait", "0")
    assert talker.stalls()
    done(talker.pid, word, "--wait", "0")
    assert talker.talk() < 20
    assert done(talker.pid, word, "--wait", "0")
    assert in_force(talker, mode)


def in_force(talker, mode):
    """Whether the statistics file says that the mode is in force, once a message was made."""
    talker.talk()
    said = json.loads(done(talker.pid, "--window", "started", "--wait", "0", "--json"))
    return said[0]["mode_before"] == mode


def test_the_window_can_be_set(talker):
    def in_force_before(window):
        said, = json.loads(done(talker.pid, f"--window={window}", "--wait", "0", "--json"))
        talker.talk()
        return said["window_us"]

    assert in_force_before(5000) == 1000
    assert in_force_before("started") == 5000
    assert in_force_before(2000) == 1000


def test_a_mode_ends_an_experiment(folder):
    env = bare_env(UNSTALL_ARMS="off:1,observe:1")
    with started_talker("--stats", folder, env=env) as talker:
        assert talker.stalls()
        assert "its experiment with 2 arms has ended\n" in done(talker.pid, "auto", "--wait", "0")
        assert talker.talk() < 20


def test_a_folder_stands_for_all_that_run_and_several_can_be_named(folder):
    words = ["--stats", folder, "--mode", "nodelay"]
    with started_talker(*words) as first, started_talker(*words) as second, started_talker(*words) as over:
        for talker in (first, second, over):
            talker.talk(5)
        over.end()
        told = done(folder, "off", "--wait", "0")
        assert sorted(told.splitlines()) == sorted(
            f"{name_of(talker)}: written; it takes effect when the next message begins"
            for talker in (first, second))
        assert first.stalls() and second.stalls()
        assert len(done(first.pid, second.pid, "off", "--wait", "0").splitlines()) == 2


def test_json_says_what_was_done(talker, folder):
    stats_file, = folder.glob("*.unstall")
    told, = json.loads(done("--json", talker.pid, "off", "--wait", "0"))
    assert (told.pop("unstall"), told.pop("format"), told.pop("version")) == ("0.1.0", "unstall-set", 1)
    assert " set --json " in told.pop("made")["command"]
    assert told == {"pid": talker.pid, "program": Path(os.readlink(f"/proc/{talker.pid}/exe")).name,
                    "stats_file": str(stats_file), "outcome": "waits", "mode_before": "nodelay",
                    "mode": "nodelay", "window_us": 1000, "arms_ended": 0, "killed": False}


# ---- refused ---------------------------------------------------------------

def test_without_a_segment_it_says_how_to_get_one():
    with started_talker() as talker:
        talker.talk(5)
        complaint = refused(talker.pid, "off")
        assert complaint.startswith(f"{talker.pid}: has the library, but keeps no statistics; start")


def test_without_the_library_it_says_so():
    with started_talker(bare=True) as talker:
        talker.talk(5)
        assert refused(talker.pid, "off").startswith(f"{talker.pid}: runs without the library")


def test_what_has_ended_or_was_killed_cannot_be_set(folder):
    for how in ("killed", "ended"):
        with started_talker("--stats", folder) as talker:
            talker.talk(5)
            if how == "ended":
                talker.end()
                assert refused(talker.pid, "off").startswith(f"{talker.pid}: no such process")
        stats_file, = folder.glob(f"{talker.pid}-*.unstall")
        assert refused(stats_file, "off") == f"{stats_file}: its process has ended; there is nothing to set\n"
        assert refused(folder, "off") == f"{folder}: none of these processes is running\n"


def test_somebody_elses_cannot_be_set(talker, folder):
    need_root("can be somebody else here")
    with command_of_everybody() as copy:
        answer = run([copy, "set", talker.pid, "off"], bare_env(), check=False, **AS_NOBODY)
        assert answer.returncode == 125
        assert "run this as its user or as root" in answer.stderr
        folder.chmod(0o755)
        stats_file, = folder.glob("*.unstall")
        answer = run([copy, "set", stats_file, "off"], bare_env(), check=False, **AS_NOBODY)
        assert answer.returncode == 125
        assert "Permission denied" in answer.stderr
    assert talker.talk() < 20


def test_arms_begin_an_experiment_and_none_ends_it(talker, folder):
    # nothing told that there is one: "mode nodelay, window 1000 us"
    told = f"{name_of(talker)}: an experiment: each new connection gets an arm by chance, off:30,auto:70\n"
    assert told in done(talker.pid, "--arms", "off:30,auto:70", "--assign", "peer", "--seed", "7")
    assert told in done(talker.pid)
    control = control_of(folder)
    assert control["arms"] == [{"mode": "off", "weight": 30}, {"mode": "auto", "weight": 70}]
    assert (control["assignment"], control["seed"]) == ("peer", 7)
    assert "experiment" not in done(talker.pid, "--arms", "none")
    assert control_of(folder)["arms"] == []


def test_a_locked_control_block_is_not_waited_for_for_ever(talker, folder):
    stats_file, = folder.glob("*.unstall")
    with open(stats_file, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert refused(talker.pid, "off") == (f"{stats_file}: another tool has locked its control block; "
                                              "try again\n")


def test_a_foreign_file_is_refused_and_stays_as_it_is(tmp_path):
    file = tmp_path / "1.unstall"
    file.write_bytes(b"foreign" * 1000)
    refused(file, "off")
    assert file.read_bytes() == b"foreign" * 1000


def test_a_symbolic_link_in_the_place_of_a_segment_is_not_followed(talker, folder, tmp_path):
    stats_file, = folder.glob("*.unstall")
    link = tmp_path / "link.unstall"
    link.symlink_to(stats_file)
    refused(link, "off")
    assert talker.talk() < 20


def test_status_does_not_undo_by_off_what_is_off(talker):
    """Of a process in mode off it said: "undo: unstall set PID off"."""
    told = [unstall("status").stdout]
    unstall("set", talker.pid, "off", "--wait", "0", check=True)
    talker.talk()
    told.append(unstall("status").stdout)
    # processes of other tests may be told together with it
    undo = rf"\(pids? [^)]*\b{talker.pid}\b[^)]*\)\n(?:    .*\n)*?    undo     (.*)\n"
    on, off = (re.search(undo, text)[1] for text in told)
    assert on.startswith(f"unstall set {talker.pid} off; for good, ")
    assert off.startswith("nothing is changed in mode off; ")


def test_a_process_in_a_container_has_the_id_of_this_host(peer, folder):
    """It had that of its own PID namespace, which here is a kernel thread's: `report DIR` said that it was
    killed, `set DIR` that it has ended, `top` showed it no more, and `observe PID` ended at once."""
    need_namespaces("--fork", "--pid", "--mount-proc")
    script = 'exec 3<&0; "$@" <&3 & wait'
    words = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child", "sh", "-c", script, "sh",
             "/usr/bin/python3", STALLER, *peer.target]
    with spawned(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                 env=preload_env("observe", UNSTALL_STATS=folder)) as process:
        assert process.stdout.readline() == "ready\n"
        found = run(["pgrep", "--full", f"^/usr/bin/python3 {STALLER} {' '.join(map(str, peer.target))}"],
                    bare_env())
        pid = int(found.stdout)
        assert any(file.name.startswith("2-") for file in folder.iterdir())
        assert f"(pid {pid}), mode observe, running for" in unstall("report", folder).stdout
        assert f"\n{pid:5} " in unstall("top", "--once", "--interval", "0.2", folder).stdout
        assert f"(pid {pid}), mode observe, running for" in unstall("observe", "--time", "1", pid).stderr
        assert f"{pid} (python3" in done(folder, "auto")
