# SPDX-License-Identifier: MIT
"""A command and a server as the subject: real programs, real exchanges."""

import os
import re
import signal
import subprocess

import pytest
from trial import PROGRAMS, PYTHON, ab, alive, answering, begun, client, measured, server_command

from harness import COMMAND, bare_env, compile_c, free_port, wait_for


@pytest.fixture(name="port", scope="module")
def a_server():
    with answering() as port:
        yield port


def test_a_stalling_client_is_cured_and_the_winner_deployed(port, tmp_path):
    done = ab("--arms", "bare,off,auto", "--rounds", 7, "--json", tmp_path / "r.json", "--", *client(port, 6))
    assert done.returncode == 0, done.stderr
    assert re.search(r"auto wins: .*\. It is [\d]+ times as fast", " ".join(done.stdout.split()))
    assert "unstall run --mode auto -- /usr/bin/python3" in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 80
    value = measured(tmp_path / "r.json")
    arms = value["analysis"]["arms"]
    assert arms["off"]["exchanges"] == arms["auto"]["exchanges"] == 42
    assert arms["off"]["slow"] >= 20 and arms["auto"]["slow"] <= 5
    assert arms["bare"]["exchanges"] == 0 and arms["bare"]["numbers"]["wall"]["value"] > 0
    assert value["analysis"]["left_out"] == ["bare"]
    assert arms["off"]["numbers"]["segments"]["value"] == pytest.approx(2, abs=0.2)
    assert arms["auto"]["numbers"]["segments"]["value"] < 1.5


def test_each_round_has_each_arm_once_in_an_order_of_chance_that_the_seed_repeats(tmp_path):
    """The order in which the arms of a round ran is the order of its units."""
    orders = []
    for seed in (5, 5, 6):
        path = tmp_path / "r.json"
        ab("--arms", "bare,off,auto,cork", "--rounds", 4, "--warmup", 0, "--seed", seed, "--json", path,
           "--", "true")
        units = measured(path)["units"]
        rounds = [[unit["arm"] for unit in units[at:at + 4]] for at in range(0, 16, 4)]
        assert all(sorted(arms) == ["auto", "bare", "cork", "off"] for arms in rounds)
        orders.append(rounds)
    assert orders[0] == orders[1] != orders[2]
    assert len({tuple(arms) for arms in orders[0]}) > 1


def test_the_seed_is_printed_and_another_each_time():
    outputs = [ab("--arms", "bare,off", "--rounds", 1, "true").stdout for _ in range(3)]
    seeds = {re.search(r"seed (\d+)", output)[1] for output in outputs}
    assert len(seeds) == 3


def test_the_arms_get_their_environment_and_bare_gets_nothing(tmp_path):
    log = tmp_path / "log"
    env = bare_env(UNSTALL_WINDOW_US=5000, UNSTALL_MODE="cork", LD_PRELOAD="libm.so.6")
    ab("--arms", "bare,off,auto", "--rounds", 1, "--warmup", 0, "--", "sh", "-c",
       f'echo "${{UNSTALL_MODE-none}} ${{UNSTALL_WINDOW_US-none}} $LD_PRELOAD" >> {log}', env=env)
    lines = sorted(line.split() for line in log.read_text().splitlines())
    assert [line[:2] for line in lines] == [["auto", "5000"], ["none", "none"], ["off", "5000"]]
    assert [line[2].split(":")[0] for line in lines] == ["libm.so.6"] * 3
    assert [line[2].endswith("libunstall.so") for line in lines] == [True, False, True]


def test_a_program_has_the_ignored_signals_and_the_locale_of_the_caller():
    """systemd ignores SIGPIPE for its services, a shell SIGINT for its background jobs.  Python takes other
    signals, and sets LC_CTYPE in the locale C."""
    ignored = signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD, signal.SIGUSR1
    program = ["grep", "-ahzoE", r"Sig(Ign|Blk):\s\w+|^LC_CTYPE=.*", "/proc/self/status",
               "/proc/self/environ"]
    env = {name: value for name, value in bare_env().items() if not name.startswith(("LC_", "LANG"))}

    def caller():
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
    ran = [subprocess.run(words, env={**env, **more}, preexec_fn=caller, check=False, text=True,
                          capture_output=True).stdout
           for more in ({}, {"LC_CTYPE": "C"})
           for words in (program, [COMMAND, "ab", "--arms", "bare,off", "--rounds", "1", "--warmup", "0",
                                   "--show-output", "--", *program])]
    bits = sum(1 << number - 1 for number in ignored)
    assert int(re.search(r"SigIgn:\s(\w+)", ran[0])[1], 16) & bits == bits  # under nohup(1) SIGHUP too
    assert "LC_CTYPE" not in ran[0] and ran[2] == ran[0] + "LC_CTYPE=C\0"
    assert ran[1].startswith(2 * ran[0]) and "\0LC_CTYPE" not in ran[1], ran
    assert ran[3].startswith(2 * ran[2]), ran


def test_until_sure_ends_early(port, tmp_path):
    done = ab("--arms", "off,auto", "--until-sure", "--json", tmp_path / "r.json", "--", *client(port, 6))
    assert done.returncode == 0
    assert "Ended early" in done.stdout
    value = measured(tmp_path / "r.json")
    assert value["ending"] == "sure" and value["analysis"]["anytime"]
    assert 7 <= len(value["units"]) / 2 <= 40  # of 1000


def test_a_well_behaved_client_is_not_promised_anything(port, tmp_path):
    """The interval leaves room for no difference, at 99.9 %: chance is to fail this once in a thousand
    runs."""
    ab("--arms", "off,auto", "--rounds", 15, "--confidence", 99.9, "--json", tmp_path / "r.json", "--",
       *client(port, 20, "one"))
    found = measured(tmp_path / "r.json")["analysis"]
    assert found["verdict"]["kind"] != "winner"
    assert found["arms"]["off"]["slow"] < 0.1 * found["arms"]["off"]["exchanges"]


def test_a_server_is_started_under_each_arm_and_stopped(tmp_path):
    port = free_port()
    done = ab("--server", " ".join(server_command(port, 0, 2)), "--ready", port, "--arms", "bare,off,auto",
              "--rounds", 6, "--json", tmp_path / "r.json", "--", *client(port, 6, "one"))
    assert done.returncode == 0, done.stderr
    assert "auto wins" in done.stdout
    value = measured(tmp_path / "r.json")
    assert value["kind"] == "server"
    assert value["analysis"]["arms"]["off"]["slow"] >= 15 and value["analysis"]["arms"]["auto"]["slow"] <= 5
    assert alive(str(port)) == []


def test_a_number_in_the_output_is_a_score(port, tmp_path):
    ab("--arms", "bare,auto", "--base", "bare", "--rounds", 6, "--score", r"took ([\d.]+) us", "--json",
       tmp_path / "r.json", "--", *client(port, 6))
    found = measured(tmp_path / "r.json")["analysis"]
    assert found["metric"] == "score"
    assert found["arms"]["bare"]["numbers"]["score"]["value"] > 15000
    assert found["against"][0]["contrast"]["estimate"] < -1


def test_a_known_delay_is_found_and_measured_aright(tmp_path):
    """20 ms in each exchange of the arm auto; a busy machine adds some to both arms."""
    library = compile_c(PROGRAMS / "delay.c", "-shared", "-fPIC")
    with answering(think_ms=2) as port:
        env = bare_env(LD_PRELOAD=library, DELAY_MODE="auto", DELAY_US=20000)
        ab("--arms", "off,auto", "--rounds", 7, "--metric", "median", "--json", tmp_path / "r.json", "--",
           *client(port, 10, "polite"), env=env)
    found = measured(tmp_path / "r.json")["analysis"]
    assert found["verdict"]["winner"] == "off"
    assert 15 < found["against"][0]["difference"]["value"] < 100


def test_time_is_a_limit(port):
    done = ab("--arms", "off,auto", "--time", 3, "--warmup", 0, "--", *client(port, 4))
    assert 1 <= int(re.match(r"(\d+) rounds? of", done.stdout)[1]) <= 40


def test_system_calls_are_counted_apart(port, tmp_path):
    ab("--arms", "bare,coalesce", "--rounds", 1, "--count-calls", "--json", tmp_path / "r.json", "--",
       *client(port, 40))
    units = measured(tmp_path / "r.json")["units"]
    calls = {unit["arm"]: unit["system_calls"] for unit in units}
    assert calls["bare"] > 100 and calls["coalesce"] > 100


def test_aa_checks_the_set_up(port, tmp_path):
    done = ab("--aa", "--rounds", 8, "--seed", 3, "--json", tmp_path / "r.json", "--",
                  *client(port, 30, "one"))
    said = " ".join(done.stdout.split())
    assert done.returncode == (6 if "A winner named here cannot be trusted" in said else 0), done.stderr
    assert "A/A: both arms are off" in said
    assert re.search(r"Of 200 experiments drawn from these rounds \d+ name a winner", said)
    assert {unit["arm"] for unit in measured(tmp_path / "r.json")["units"]} == {"off", "off-2"}


def folders_of(pid):
    """Its folders on tmpfs."""
    return [name for name in os.listdir("/dev/shm") if name.startswith(f"unstall-ab.{pid}.")]


def test_nothing_stays_behind_on_tmpfs_also_of_one_that_was_killed(port):
    child = begun("--arms", "off,auto", "--rounds", 1000, "--", *client(port, 4))
    wait_for(lambda: folders_of(child.pid))
    child.kill()
    child.communicate()
    ab("--arms", "bare,off", "--rounds", 1, "--", "true")
    assert not folders_of(child.pid)


def test_what_a_program_leaves_running_is_ended():
    """A daemon that has left its session."""
    marker = f"3{free_port()}"
    done = ab("--arms", "bare,off", "--rounds", 1, "--", "sh", "-c",
              f"setsid sleep {marker} & setsid -f sleep {marker}")
    assert done.returncode == 2, done.stderr
    assert alive(marker) == []


def test_the_hint_where_nothing_is_seen():
    done = ab("--arms", "bare,off", "--rounds", 1, "--", PYTHON, "-c", "")
    assert "no statistics: the program has no TCP connection" in done.stderr
