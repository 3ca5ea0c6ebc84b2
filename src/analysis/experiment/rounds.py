# SPDX-License-Identifier: MIT
"""Experiments in rounds, with a command or a server under load.  Each round has every arm once, in
random order.

A disturbance of the machine slows all arms of a round alike, and the random order gives each arm the
same chance to come first.  So arms are compared within a round only.
"""

import random
import re
import tempfile
import time

from experiment import processes, stats_files
from inference.analysis import analyse
from inference.verdict import is_decided
from record.arms import BARE, mode_of
from record.results import Unit, place_of

READY_S = 60.0


class Rounds:
    """Runs the rounds and adds their units to `results`; `options` are those of the command line."""

    def __init__(self, options, results, progress, keep):
        self.options, self.results, self.progress, self.keep = options, results, progress, keep
        self.host = next(iter(results.machines))
        self.rng = random.Random(options.seed)
        self.began = time.monotonic()
        self.hints = []
        self._score = None

    def go(self):
        """Warm-up and rounds until an end is reached; sets results.ending."""
        for number in range(self.options.warmup):
            self.progress(f"warm-up {number + 1} of {self.options.warmup}")
            self._round(None)
        # --time does not include the warm-up.
        self.began = time.monotonic()
        done = 0
        while self._another(done):
            self.progress(self._where(done), done, self.options.rounds)
            for unit in self._round(done + 1):
                self.results.units.append(unit)
            done += 1
            self.keep()
            if self.options.until_sure and self._is_sure():
                self.results.ending = "sure"
                return
        if self.results.ending == "running":
            self.results.ending = "complete"

    def _another(self, done):
        if done == 0:
            return True
        passed = time.monotonic() - self.began
        if self.options.time and passed * (done + 1) / done > self.options.time * 1.02:
            return False
        return done < self.options.rounds

    def _where(self, done):
        passed = time.monotonic() - self.began
        left = ""
        if done:
            whole = passed / done * self.options.rounds
            whole = min(whole, self.options.time) if self.options.time else whole
            left = f", {max(0, whole - passed):.0f} s left"
        return f"round {done + 1} of {self.options.rounds}{left}"

    def _is_sure(self):
        return is_decided(analyse(self.results, describing=False), self.options.margin)

    def _round(self, block):
        order = list(self.results.arms)
        self.rng.shuffle(order)
        units = []
        for arm in order:
            try:
                units.append(self._one(arm, block))
            except processes.Failed as failure:
                self.results.failures.append(
                    {"round": block, "arm": arm, "what": str(failure)})
                if not self.options.ignore_failure:
                    self.results.units += units
                    raise
                self.progress.note(f"{place_of(self.results.failures[-1])}: {failure}")
        return units

    def _one(self, arm, block):
        with stats_files.Folder() as folder:
            unit = Unit(arm, self.host, block)
            mode = mode_of(arm)
            env = processes.environment(mode, self.options.library, folder.path)
            if self.options.server:
                self._server(unit, env)
            else:
                self._command(unit, env)
            if self.options.score is not None:
                unit.score = self._score
            if mode != BARE:
                self._exchanges(unit, folder)
            return unit

    def _command(self, unit, env):
        used = self._run(self.options.command, env)
        unit.wall_s, unit.user_s, unit.system_s = used.wall_s, used.user_s, used.system_s

    def _run(self, argv, env):
        options = self.options
        keep = options.score is not None
        used = processes.run(argv, env, options.timeout, options.show_output and not keep, keep)
        if keep:
            self._score = _score_in(options.score, used.output)
        return used

    def _server(self, unit, env):
        options = self.options
        if processes.listens(options.ready):
            raise processes.Failed(f"port {options.ready}: another program listens there; stop it, or "
                                   "let the server use another port")
        with processes.Program(options.server, env, options.show_output) as server:
            processes.wait_until_listening(server, options.ready, READY_S)
            before = processes.cpu_of(server.pid)
            used = self._run(options.command, processes.environment(BARE, None))
            after = processes.cpu_of(server.pid)
            if server.ended(0):
                raise processes.Failed(f"{server.argv[0]}: {server.usage.how or 'ended'} under "
                                       f"the load{server.complaint()}")
            unit.wall_s = used.wall_s
            unit.user_s, unit.system_s = after - before, 0.0  # one number, both together
            server.stop()

    def _exchanges(self, unit, folder):
        found = [row for process in stats_files.report(self.options.unstall, folder.path)
                 for row in process["rows"]] if folder.files() else []
        if not found:
            self.hint("no statistics: the program has no TCP connection, the library does not load "
                      "in it (`unstall doctor` says why), or /dev/shm is full; only wall and CPU "
                      "time are compared")
            return
        whole = stats_files.sum_rows(found, unit.arm, unit.stratum)
        if not whole.exchanges:
            self.hint("no connection had an exchange; only wall and CPU time are compared")
            return
        for name in stats_files.SUMS_OF_ROW:
            setattr(unit, name, getattr(whole, name))
        unit.histogram = whole.histogram

    def hint(self, text):
        """Note a hint; the same one is printed once."""
        if text not in self.hints:
            self.hints.append(text)

    def count_calls(self):
        """One more round under strace -c: arm -> number of system calls.  It is a round of its own,
        because strace makes everything slow."""
        counted = {}
        for arm in self.results.arms:
            self.progress(f"counting system calls: {arm}")
            with stats_files.Folder() as folder, tempfile.NamedTemporaryFile() as table:
                mode = mode_of(arm)
                env = processes.environment(mode, self.options.library, folder.path)
                inner = [word for name, value in env.items() if name == "LD_PRELOAD" or
                         name.startswith("UNSTALL_") for word in ("-E", f"{name}={value}")]
                outer = processes.environment(BARE, None)
                outer.pop("LD_PRELOAD", None)
                tracer = ["strace", "-f", "-c", "-qq", "-o", table.name, *inner]
                self._count_one(tracer, outer, env)
                table.seek(0)
                counted[arm] = total_of(table.read().decode())
        return counted

    def _count_one(self, tracer, outer, env):
        options = self.options
        if not options.server:
            processes.run([*tracer, *options.command], outer, options.timeout)
            return
        with processes.Program([*tracer, *options.server], outer) as server:
            processes.wait_until_listening(server, options.ready, READY_S)
            processes.run(options.command, processes.environment(BARE, None), options.timeout)
            for child in processes.children(server.pid):
                processes.end(child)
            server.ended(processes.GRACE_S)


def total_of(table):
    """The total number of calls in the table of strace -c."""
    for line in table.splitlines():
        words = line.split()
        if words and words[-1] == "total":
            return int(words[3 if "." in words[1] else 2])
    return None


def _score_in(pattern, output):
    """The number that --score matches in the program's output."""
    found = re.search(pattern, output, re.MULTILINE)
    if not found:
        raise processes.Failed(f"--score {pattern}: no match in the output")
    text = found[1] if found.groups() else found[0]
    try:
        return float(text)
    except ValueError:
        raise processes.Failed(f"--score {pattern}: {text} is no number") from None
