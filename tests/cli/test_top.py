# SPDX-License-Identifier: MIT
"""unstall top, looked at in a real terminal of 80 columns (tmux)."""

import contextlib
import os
import re
import signal
import subprocess
import time
import uuid

import pytest

from harness import (COMMAND, AnsweringPeer, bare_env, compile_c, need_root, preload_env, run, spawned,
                     unstall, wait_for, wait_until)
from stats_files import PROGRAMS, STALLING, make_stats_file
from talkers import staller


@contextlib.contextmanager
def program(folder, *words):
    """A program that talks for ever, under the library."""
    with spawned(words, preload_env("observe", UNSTALL_STATS=folder)) as process:
        yield process


class Terminal:
    """A terminal that tests can look at and type into."""

    def __init__(self, *words, columns=80, lines=24, env=""):
        self.name = f"unstall-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        command = " ".join(map(str, words))
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines),
                   f"env {env} {command}; echo \"ended with $?\"; exec sleep 60")

    def _tmux(self, *words):
        return run(["tmux", "-L", self.name, *words], bare_env(LC_ALL="C.UTF-8"), timeout=20).stdout

    def type(self, *keys):
        self._tmux("send-keys", *keys)

    def resize(self, columns, lines):
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def see(self, *flags):
        return self._tmux("capture-pane", "-p", *flags)

    def wait_for(self, pattern, seconds=15):
        """The screen, once it shows `pattern`."""
        until = time.monotonic() + seconds
        while not re.search(pattern, screen := self.see(), re.MULTILINE):
            assert time.monotonic() < until, f"no {pattern!r} in:\n{screen}"
            time.sleep(0.1)
        return screen

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tmux("kill-server")


def test_one_line_for_each_endpoint_of_each_process(peer, folder, process):
    text = unstall("top", "--once", folder, check=True).stdout
    assert max(map(len, text.splitlines())) <= 80
    summary, heading, line = text.splitlines()
    assert re.match(r"1 running, 0 ended; \d+(\.\d)? exchanges/s, [\d.]+ stalls/s, [\d.]+ m?s lost in "
                    r"[1-9]\d*\.\d s$", summary)
    assert heading.split() == ["PID", "PROGRAM", "ENDPOINT", "MODE", "EXCH/S", "MEDIAN", "P99", "STALL/S",
                               "CURED"]
    assert re.match(rf" *{process.pid} python3 ?[.\d]* +127\.0\.0\.1:{peer.port} +observe "
                    r"+\d+(\.\d)? +\d+(\.\d+)? ms ", line)


def test_one_process_can_be_watched(peer, folder, process):
    with staller(folder, peer):
        _, _, *lines = unstall("top", "--once", str(process.pid), check=True).stdout.splitlines()
        assert [line.split()[0] for line in lines] == [str(process.pid)]


def test_ended_processes_are_counted_and_not_shown(tmp_path):
    make_stats_file(tmp_path / "1.unstall", STALLING)
    text = unstall("top", "--once", "--interval", "0.1", tmp_path, check=True).stdout
    assert text.startswith("0 running, 1 ended; ")
    assert len(text.splitlines()) == 2


@pytest.mark.parametrize("columns, headings", [
    (40, "PID ENDPOINT STALL/S CURED"),
    (60, "PID PROGRAM ENDPOINT EXCH/S STALL/S CURED"),
    (70, "PID PROGRAM ENDPOINT EXCH/S MEDIAN STALL/S CURED"),
])
def test_a_narrow_terminal_shows_stalls_and_cures(folder, process, columns, headings):
    """At 60 columns a line ended behind the median, and later at 40 behind the endpoint; stalls, by which it
    is sorted, were not shown."""
    with Terminal(COMMAND, "top", "--interval", "0.5", folder, columns=columns) as terminal:
        screen = terminal.wait_for(rf"^ *{process.pid} (python3\.\d+ +)?[\w ]*[\d.:]+ .* [1-9][\d.]* +0$")
        heading = next(line for line in screen.splitlines() if "ENDPOINT" in line)
        assert " ".join(heading.split()) == headings
        assert re.search(r"^(1 running.*; )?[\d.]+k? exch(anges)?/s, .* lost( in \d\.\d s)? *$", screen,
                         re.MULTILINE)


@pytest.mark.parametrize("columns", [80, 120])
def test_the_screen_shows_what_happens(folder, process, columns):
    with Terminal(COMMAND, "top", "--interval", "0.5", folder, columns=columns) as terminal:
        # all of Python's services were "python3." at 80 columns
        screen = terminal.wait_for(rf"^ *{process.pid} python3\.\d+ .* observe +\d+ +\d+(\.\d+)? ms")
        assert "by stalls, every 0.5 s   q quit  ? help  m mode" in screen
        assert max(map(len, screen.splitlines())) <= columns
        terminal.type("q")
        terminal.wait_for("^ended with 0")


def test_the_mode_is_switched_from_the_screen(folder, process):
    with Terminal(COMMAND, "top", "--interval", "0.5", folder) as terminal:
        terminal.wait_for(rf"^ *{process.pid} .* observe .* \d+(\.\d+)? ms")
        terminal.type("m")
        terminal.wait_for(rf"^The mode of python3[.\d]* \(pid {process.pid}\), now observe:")
        terminal.type("n")
        terminal.wait_for(rf"^{process.pid}: nodelay, from its next message on")
        terminal.wait_for(rf"^ *{process.pid} .* nodelay +\S+ +\d+(\.\d+)? µs")
        assert '"mode": "nodelay"' in unstall("report", "--json", str(process.pid), check=True).stdout


def test_lines_from_before_a_change_of_mode_are_told_apart(peer, folder):
    """All lines of a process had its present mode, so that two were equal; and in mode off, where stalls are
    not looked for, there were "0" stalls."""
    with staller(folder, peer, "each") as process:
        def lines():
            text = unstall("top", "--once", "--interval", "0.5", folder, check=True).stdout
            return {line.split()[3]: line.split() for line in text.splitlines()[2:]}

        wait_for(lambda: list(lines()) == ["observe"])
        unstall("set", str(process.pid), "off", check=True)
        wait_for(lambda: set(lines()) == {"observe", "off"})
        found = lines()
        assert found["off"][-2] == "?" and found["observe"][-2] != "?"


def by_address(peer):
    return str(peer.port)


def test_sorting_selecting_and_help(peer, folder):
    """Each key has another order than the key before it."""
    with AnsweringPeer() as other, staller(folder, max(peer, other, key=by_address)) as one, \
            staller(folder, min(peer, other, key=by_address), mode="auto") as two, \
            Terminal(COMMAND, "top", "--interval", "0.5", folder) as terminal:
        def order():
            return [int(word) for word in re.findall(r"^ *(\d+) python", terminal.see(), re.MULTILINE)]

        def wait_for_order(*pids):
            assert wait_until(lambda: order() == list(pids)), terminal.see()

        terminal.wait_for(rf"^ *{two.pid} .* auto +\S+ +\d")
        wait_for_order(one.pid, two.pid)
        for key, name, *expected in (("e", "exchanges", two, one), ("s", "stalls", one, two),
                                     ("c", "cured", two, one), ("5", "median", one, two),
                                     ("n", "endpoint", two, one), ("9", "p99", one, two),
                                     ("r", "p99, reversed", two, one)):
            terminal.type(key)
            terminal.wait_for(f"^by {name}, every")
            wait_for_order(*(process.pid for process in expected))
        terminal.type("p")
        terminal.wait_for("^by pid, every")
        wait_for_order(*sorted([one.pid, two.pid]))
        terminal.type("?")
        terminal.wait_for("^q +quit")
        assert re.search("^endpoint .* is in them", terminal.see(), re.MULTILINE), "its last line is missing"
        terminal.type("x", "Down", "m")
        terminal.wait_for(rf"^The mode of python3[.\d]* \(pid {max(one.pid, two.pid)}\)")


def test_every_mode_can_be_chosen(folder, process):
    """Their keys are others than in the list of lines: k is cork there, s the mode of the start."""
    with Terminal(COMMAND, "top", "--interval", "0.3", folder) as terminal:
        terminal.wait_for(rf"^ *{process.pid} .* observe ")
        for key, said, mode in (("o", "off", "off"), ("b", "observe", "observe"), ("k", "cork", "cork"),
                                ("l", "coalesce", "coalesce"), ("a", "auto", "auto"),
                                ("s", "as it was started", "observe")):
            terminal.type("m")
            terminal.wait_for(rf"^  {key}  {said}$")
            terminal.type(key)
            terminal.wait_for(rf"^{process.pid}: {said}, from its next message on")
            terminal.wait_for(rf"^ *{process.pid} .* {mode} ")
        terminal.type("m")
        terminal.wait_for("^  any other key: leave it")
        terminal.type("x")
        terminal.wait_for(rf"^ *{process.pid} .* observe ")


def test_the_interval_is_halved_and_doubled(folder):
    with Terminal(COMMAND, "top", "--interval", "0.8", folder) as terminal:
        terminal.wait_for(", every 0.8 s ")
        for key, seconds in zip("++++--", (0.4, 0.2, 0.1, 0.1, 0.2, 0.4)):
            terminal.type(key)
            terminal.wait_for(f", every {seconds} s ")


def test_it_follows_the_size_of_the_terminal(folder, process):
    with Terminal(COMMAND, "top", "--interval", "0.5", folder) as terminal:
        terminal.wait_for(rf"^ *{process.pid} ")
        for columns, lines in ((120, 30), (40, 5), (80, 24)):
            terminal.resize(columns, lines)
            terminal.wait_for(rf"^ *{process.pid} ")
            time.sleep(0.6)
            screen = terminal.wait_for(rf"^ *{process.pid} ")
            assert max(map(len, screen.splitlines())) <= columns


def test_processes_come_and_go(peer, folder):
    with Terminal(COMMAND, "top", "--interval", "0.3", folder) as terminal:
        terminal.wait_for("^No process here: start one")
        with staller(folder, peer) as process:
            terminal.wait_for(rf"^ *{process.pid} python")
        terminal.wait_for("^0 running, 1 ended")
        wait_for(lambda: "python3" not in terminal.see())


def test_colours_only_where_they_are_wanted(folder, process):
    for env, coloured in (("NO_COLOR=1", False), ("-u NO_COLOR", True)):
        with Terminal(COMMAND, "top", "--interval", "0.3", folder, env=env) as terminal:
            terminal.wait_for(rf"^ *{process.pid} .* \d+(\.\d+)? ms")
            assert bool(re.search("\033\\[[\\d;]*31m", terminal.see("-e"))) is coloured


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_in_order(folder, number):
    with Terminal("sh -c", f"'echo $$ > {folder}/pid; exec {COMMAND} top {folder}'") as terminal:
        terminal.wait_for("^No process here")
        os.kill(int((folder / "pid").read_text(encoding="utf-8")), number)
        screen = terminal.wait_for("^ended with 0")
        assert "Nobody" not in screen


def test_without_any_statistics_it_looks_at_the_whole_host():
    need_root("can hide /dev/shm")
    hidden = "mount -t tmpfs none /dev/shm && exec \"$@\""
    done = run(["unshare", "--mount", "sh", "-c", hidden, "-", COMMAND, "top", "--once"], bare_env(),
               check=False)
    assert done.returncode in (0, 1, 2) and done.stdout.startswith("Scanned this host for "), done


@pytest.mark.parametrize("columns, lines", [(100, 17), (62, 24)])
def test_a_watched_scan_fits_the_screen_and_says_how_it_ends(columns, lines):
    """The verdict was above the upper edge, later where there were streams without answers.  And nothing
    said that Ctrl-C ends it, not q."""
    with contextlib.ExitStack() as stack, \
         Terminal(COMMAND, "scan", "--watch", columns=columns, lines=lines) as terminal:
        peers = [stack.enter_context(AnsweringPeer()) for _ in range(9)]
        for peer in peers:
            stack.enter_context(staller(None, peer, env=bare_env()))
        for _ in range(3):
            words = ["/usr/bin/python3", "-S", PROGRAMS / "actor.py", "one-way", "600", "0", ""]
            stack.enter_context(spawned(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        screen = terminal.wait_for(r"^\.\.\. and \d+ more ", 30)
        assert screen.startswith("Scanned this host for ") and "Ctrl-C ends this and reports\n" in screen
        for _ in range(30):  # three tables
            terminal.wait_for(r"^\d+ stalls of (.*\n)*Ctrl-C ends this and reports$")
            time.sleep(0.1)
        terminal.type("C-c")
        terminal.wait_for("^ended with 1$", 30)


@pytest.mark.parametrize("kind", ["nonsense", "dumb"])
def test_a_terminal_without_a_screen_is_said(folder, kind):
    with Terminal(COMMAND, "top", folder, env=f"TERM={kind}") as terminal:
        terminal.wait_for(f"TERM={kind}: unknown, or without a cursor; --once needs none")
        terminal.wait_for("^ended with 125")


def test_k_and_j_select_a_line_and_change_no_mode(peer, folder):
    """k, "up" in vi and less, set the selected process to off at once."""
    with staller(folder, peer) as one, staller(folder, peer) as two, \
            Terminal(COMMAND, "top", "--interval", "0.3", folder) as terminal:
        first, last = sorted([one.pid, two.pid])

        def selected():
            terminal.type("m")
            screen = terminal.wait_for(r"^The mode of python3[.\d]* \(pid \d+\), now observe:")
            terminal.type("x")
            wait_for(lambda: "The mode of" not in terminal.see())  # the next keys are the list's
            return int(re.search(r"^The mode of .* \(pid (\d+)\)", screen, re.MULTILINE)[1])

        for process in (one, two):
            terminal.wait_for(rf"^ *{process.pid} .* observe .* \d+(\.\d+)? ms")
        terminal.type("p")
        terminal.wait_for("^by pid, every")
        for keys, expected in (("k" * 3, first), ("j", last), ("j" * 3, last), ("k", first)):
            for key in keys:
                terminal.type(key)
            assert selected() == expected
        for process in (one, two):
            assert '"mode": "observe"' in unstall("report", "--json", str(process.pid), check=True).stdout


def test_enter_opens_the_endpoint_and_any_key_leaves_it(peer, folder, process):
    with Terminal(COMMAND, "top", "--interval", "0.5", folder, env="LC_ALL=C.UTF-8") as terminal:
        terminal.wait_for(rf"^ *{process.pid} .* observe .* \d+(\.\d+)? ms")
        terminal.type("Enter")
        screen = terminal.wait_for(r"exchange times, the last \d+ looks: .*▆")
        assert re.search(rf"^python3.* \(pid {process.pid}\), to 127\.0\.0\.1:{peer.port}, mode observe$",
                         screen, re.MULTILINE)
        terminal.wait_for(r"^since the last look: \d+ exchanges, \d+ stalls, \S+ \S+ lost, 0 cured$")
        terminal.wait_for(r"^ +[\d.]+ ms – [\d.]+ ms  +[█▏▎▍▌▋▊▉]+ +\d+$")
        terminal.wait_for(r"^Who wrote the pieces$")
        assert max(map(len, terminal.see().splitlines())) <= 80
        terminal.type("q")
        terminal.wait_for("^ *PID PROGRAM")
        terminal.type("q")
        terminal.wait_for("^ended with 0")


@pytest.mark.parametrize("how, author, heading", [
    ([], "ask_second", "Who wrote the pieces"),
    (["shared"], "ask_first", "Who wrote the pieces, here or at other endpoints")])
def test_an_opened_endpoint_names_who_wrote_to_it(peer, folder, how, author, heading):
    """Once it named the authors of all endpoints of the process.  A pair of calls belongs to the endpoint
    where it was first seen."""
    with AnsweringPeer() as other, \
            program(folder, compile_c(PROGRAMS / "two_endpoints.c"), *peer.target, *other.target, *how), \
            Terminal(COMMAND, "top", "--interval", "0.5", folder, columns=120) as terminal:
        terminal.wait_for(rf"127\.0\.0\.1:{peer.port} .* ms")
        terminal.wait_for(rf"127\.0\.0\.1:{other.port} .* ms")
        for port, expected, above in ((peer.port, "ask_first", "Who wrote the pieces"),
                                      (other.port, author, heading)):
            terminal.type("/", f":{port}", "Enter")
            terminal.wait_for(f", only :{port} ")
            terminal.type("Enter")
            terminal.wait_for(f", to 127.0.0.1:{port}, mode observe$")
            screen = terminal.wait_for(f"^{above}$")
            assert set(re.findall(r"ask_\w+", screen)) == {expected}, screen
            terminal.type("q")
            terminal.wait_for("^ *PID PROGRAM")
            terminal.type("Escape")
            terminal.wait_for("every 0.5 s   q quit")


def test_the_filter_hides_the_other_lines(peer, folder):
    with AnsweringPeer() as other, staller(folder, peer) as first, staller(folder, other) as second, \
            Terminal(COMMAND, "top", "--interval", "0.3", folder) as terminal:
        terminal.wait_for(rf"^ *{first.pid} .* ms")
        terminal.wait_for(rf"^ *{second.pid} .* ms")
        terminal.type("/", f":{peer.port}")
        terminal.wait_for(f"^only lines with: :{peer.port}$")
        terminal.type("Enter")
        terminal.wait_for("^1 running|^2 running")
        terminal.wait_for(f", only :{peer.port} ")
        assert wait_until(lambda: str(second.pid) not in terminal.see()), terminal.see()
        assert re.search(rf"^ *{first.pid} ", terminal.see(), re.MULTILINE)
        terminal.type("/", "Escape")
        terminal.wait_for(rf"^ *{second.pid} .* ms")


def test_the_filter_has_its_effect_at_once_also_while_paused(folder, process):
    """Once it had it at the next look, and a filter that hid all lines was reported as no process."""
    with Terminal(COMMAND, "top", "--interval", "0.3", folder, columns=120, env="LC_ALL=C.UTF-8") as terminal:
        terminal.wait_for(rf"^ *{process.pid} .* ms.* [▆▇]{{3}}")
        terminal.type("Space")
        terminal.wait_for(", paused")
        terminal.type("/", "no such")
        terminal.wait_for('^No line of 1 has "nosuch"; Escape shows them all$')
        terminal.type("Enter")
        terminal.wait_for(", only nosuch ")
        terminal.type("Escape")
        terminal.wait_for(rf"^ *{process.pid} .* ms.* [▆▇]{{3}}")
        assert ", only" not in terminal.see()


@pytest.mark.parametrize("columns, shown", [(80, False), (94, False), (95, True), (200, True)])
def test_a_wide_terminal_shows_the_last_exchange_times(folder, process, columns, shown):
    with Terminal(COMMAND, "top", "--interval", "0.3", folder, columns=columns,
                  env="LC_ALL=C.UTF-8") as terminal:
        screen = terminal.wait_for(rf"^ *{process.pid} .* ms" + (".* [▆▇]{3}" if shown else ""))
        heading = next(line for line in screen.splitlines() if "ENDPOINT" in line)
        assert ("EXCHANGE TIME" in heading) is shown
        if columns == 200:  # once the program was cut, and a hundred empty columns lay behind the endpoint
            assert re.search(rf"^ *{process.pid} python3\.\d+ ", screen, re.MULTILINE)
            assert heading.index("MODE") - heading.index("ENDPOINT") <= 51
        assert max(map(len, screen.splitlines())) <= columns
