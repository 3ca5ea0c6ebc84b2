# SPDX-License-Identifier: MIT
"""An experiment on a running server: each connection (or peer, or listener) gets an arm at random.

The library assigns the arms, as UNSTALL_ARMS or the control block of the statistics file (`unstall set`)
tells it; for a target without the library the kernel does (in_kernel.py).  This module reads the statistics
files every half second, or the kernel's lines in the same words.  A connection is counted when it has
ended or has had --min-exchanges exchanges.  In that order it enters the confidence sequence by which
--until-sure and the guard decide: a decision that is taken after every read needs an interval that is valid
at all of them.
"""

import contextlib
import os
import subprocess
import time

from experiment import processes, stats_files
from experiment.in_kernel import Carrier
from inference.analysis import analyse
from inference.verdict import is_decided, state_of
from record.arms import mode_of
from record.results import BadFile

POLL_S = 0.5
TOGETHER = 10_000  # units: then each is of two connections, after as many again of four, and so on
COUNTED = (*stats_files.SUMS_OF_ROW.values(), "connections_ended")


def set_words(options):
    """The words of `unstall set` that begin the experiment."""
    return ["--arms", arms_text(options), "--assign", options.assign, "--seed", str(options.seed)]


def arms_text(options):
    """The value of UNSTALL_ARMS."""
    return ",".join(f"{mode_of(arm)}:{options.weights[arm]}" for arm in options.arms)


def steer(options, targets, *words):
    """Run `unstall set`; BadFile with its complaint."""
    if not targets:
        return
    done = subprocess.run([options.unstall, "set", "--wait", "0", *words, *targets], check=False,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=stats_files.quiet_environment(),
                          start_new_session=True)  # the terminal's Ctrl-C is for us
    if done.returncode != 0:
        raise BadFile(done.stderr.strip().removeprefix("unstall set: "))


def stats_files_of(pid):
    """The statistics files of a process and its descendants; BadFile if there are none."""
    found = []
    for member in processes.with_descendants(pid):
        try:
            found += [path for path in stats_files.mapped_files(member)
                      if path.endswith(".unstall") and path not in found]
        except BadFile:
            if member == pid:
                raise
    if not found:
        raise BadFile(f"{pid}: has no statistics file; start it with unstall run --stats DIR -- PROGRAM")
    return found


def kill(options):
    """The kill switch: all connections go to mode off at once."""
    steer(options, stats_files_of(options.pid), "--kill")
    print(f"All connections of {options.pid} are in mode off now. To undo that: "
          f"unstall set {options.pid} --unkill")


class Seldom:
    """Does something not more often than every so many seconds, and in a twentieth of the time at most: the
    more connections there are, the longer it takes, and the processor is the server's."""

    def __init__(self, least):
        self.least, self.next = least, time.monotonic() + least

    def __call__(self, what):
        began = time.monotonic()
        if began < self.next:
            return None
        done = what()
        ended = time.monotonic()
        self.next = ended + max(self.least, 20 * (ended - began))
        return done


class Growing:
    """A unit whose connections live, or that may get others."""
    __slots__ = "living", "settled", "at"

    def __init__(self, *whose):
        self.living = {}  # connection -> its last report
        self.settled = stats_files.empty_unit(*whose, segments=0)  # of those that have ended
        self.at = None    # its place among the counted units

    def take(self, number, connection):
        """Take in what was told of a connection; True the first time.  One that has ended is added once: a
        listener may have had a hundred thousand of them."""
        known = self.living.pop(number, None)
        if connection["ended_ns"]:
            stats_files.add_connection(self.settled, connection)
            if self.settled.segments is not None:
                self.settled.segments += connection["segments"]
        else:
            self.living[number] = connection
        return known is None

    def lose(self, number):
        """Settle by its last report a connection that newer ones have pushed out of its file, if it lives."""
        lost = self.living.pop(number, None)
        if lost:
            stats_files.add_connection(self.settled, lost)
            self.settled.segments = None
        return lost

    def unit(self):
        """All of it."""
        whole = self.settled
        unit = stats_files.empty_unit(whole.arm, whole.stratum, whole.name, segments=0)
        stats_files.add_unit(unit, whole)
        for connection in self.living.values():
            stats_files.add_connection(unit, connection)
        if self.living:
            unit.segments = None  # they are known at the end
        return unit


class Live:
    """Runs one live experiment and stores its units in `results`."""

    def __init__(self, options, results, progress, keep):
        self.options, self.results, self.progress, self.keep = options, results, progress, keep
        self.host = next(iter(results.machines))
        self.hints = []
        self.units = []        # counted, in that order
        self.counted = dict.fromkeys(options.arms, 0)
        self.growing = {}      # key -> the unit that may still change
        self.groups = {}       # arm -> the unit of several connections that is not complete yet
        self.ended = {}        # process -> the connections that its last report told of as ended,
        self.lives = {}        # and those that lived -> their units
        self.seen = 0          # connections
        self.rows = {}         # (process, row) -> its last report
        self.before = {}       # (process, row) -> its report when the experiment began
        self.killed = False
        self.began = time.monotonic()
        self.since_ns = 0      # CLOCK_MONOTONIC: older connections take no part
        self.arm_of = dict(enumerate(options.arms))
        self.fixed = options.until_sure or options.stop_if  # a decision may rest on a unit once counted
        self.saving, self.deciding = Seldom(5), Seldom(0)

    def go(self):
        """The whole experiment; sets results.ending."""
        try:
            if self.options.target:
                self._in_kernel()
            elif self.options.pid is not None:
                self._with_process()
            else:
                self._with_server()
        except processes.Interrupted:
            if self.options.time:
                raise  # an early end; without --time an interrupt is the ordinary end
        finally:
            self._close()
        if self.results.ending == "running":
            self.results.ending = "complete"

    def _with_server(self):
        options = self.options
        arms = {"UNSTALL_MODE": "off", "UNSTALL_ARMS": arms_text(options),
                "UNSTALL_ASSIGN": options.assign, "UNSTALL_SEED": str(options.seed)}
        with stats_files.Folder() as folder:
            env = processes.environment("off", options.library, folder.path, arms)
            with processes.Program(options.command, env, options.show_output) as server:
                try:
                    self._watch(lambda: self._reports(folder.files()), lambda wait: server.ended(wait),
                                lambda: steer(options, folder.files(), "--kill"))
                    if server.usage and server.usage.how:
                        raise processes.Failed(f"{server.argv[0]}: {server.usage.how}"
                                               f"{server.complaint()}")
                finally:
                    if not server.usage:
                        # its connections, before the server closes them
                        self._look(self._reports(folder.files()))
                        server.stop()
                    self._look(self._reports(folder.files()))

    def _in_kernel(self):
        carrier = Carrier(self.options, set_words(self.options))
        try:
            with carrier:
                self._watch(carrier.look, carrier.ended, lambda: None)
        finally:
            self._look(carrier.look())
            self.results.experiment["existed"] = carrier.existed
            self.hints += carrier.hints()

    def _with_process(self):
        pid = self.options.pid
        found = stats_files_of(pid)
        self._remember(found)
        self.since_ns = time.monotonic_ns()
        fd = os.pidfd_open(pid)
        try:
            steer(self.options, found, *set_words(self.options))
            self._watch(lambda: self._reports(self._stats_files_now(pid)),
                        lambda wait: processes.wait_for(fd, wait),
                        lambda: steer(self.options, self._stats_files_now(pid), "--kill"))
        finally:
            os.close(fd)
            self._look(self._reports(found))
            if not self.killed:
                with contextlib.suppress(BadFile):  # the process may have ended
                    steer(self.options, self._stats_files_now(pid), "--arms", "none")

    def _stats_files_now(self, pid):
        try:
            return stats_files_of(pid)
        except BadFile:
            return []

    def _remember(self, found):
        for path in found:
            for process in stats_files.report(self.options.unstall, path):
                for row in process["rows"]:
                    self.before[self._row_key(process, row)] = row

    def _watch(self, read, wait, turn_off):
        """Read until the time is up, the server has ended, or the answer is clear."""
        self.began = time.monotonic()
        while True:
            left = self.options.time - (time.monotonic() - self.began) if self.options.time else 1e9
            if left <= 0 or wait(min(POLL_S, left)):
                return
            self._look(read())
            self.progress(self._where())
            self.saving(self._save)
            if not self.killed and self.deciding(lambda: self._decide(turn_off)):
                return

    def _where(self):
        text = f"{time.monotonic() - self.began:.0f} s"
        for arm, count in self.counted.items():
            text += f", {arm} {count}"
        return text + " counted"

    def _save(self):
        self._store()
        self.keep()

    def _decide(self, turn_off):
        """True when the guard or --until-sure has ended the experiment."""
        options = self.options
        if not self.fixed:
            return False
        self._store()
        analysis = analyse(self.results, describing=False)
        if options.stop_if:
            worse = [comparison.arm for comparison in analysis.against
                     if state_of(comparison, options.confidence, options.margin) == "worse"]
            if worse:
                return self._stop(worse, turn_off)
        if options.until_sure and is_decided(analysis, options.margin):
            self.results.ending = "sure"
            return True
        return False

    def _stop(self, worse, turn_off):
        """The guard: all connections go to mode off at once.  A server that we started runs on in that
        mode.  In the kernel the end of the experiment does it."""
        turn_off()
        self.killed = True
        what = f"{', '.join(worse)} is surely worse than {self.results.experiment['base']}: " \
               "all connections are in mode off now"
        if self.options.pid is not None and not self.options.target:
            what += f" (to undo that: unstall set {self.options.pid} --unkill)"
        self.results.events.append({"at_s": time.monotonic() - self.began, "what": what})
        self.results.ending = "guard"
        self.progress.note(what)
        return not self.options.command

    # ---- reading ----

    @staticmethod
    def _row_key(process, row):
        return process["pid"], process["started_ns"], row["index"]

    def _reports(self, found):
        for path in found:
            try:
                yield from stats_files.report(self.options.unstall, path)
            except BadFile:
                continue  # it is being created, or has just been removed

    def _look(self, reports):
        """Take in the result of one read."""
        if self.killed:
            return  # all arms are in mode off, so later exchanges belong to no arm
        for process in reports:
            self._take(process)

    def _take(self, process):
        for row in process["rows"]:
            if row["arm"] is not None:
                self.rows[self._row_key(process, row)] = row
        which = process["pid"], process["started_ns"]
        told, touched = self.ended.get(which, set()), {}
        self.ended[which], lives = set(), {}
        for connection in process["connections"]:
            number, arm = connection["serial"], self.arm_of.get(connection["arm"])
            if arm is None or connection["opened_ns"] < self.since_ns:
                continue
            if connection["ended_ns"]:
                self.ended[which].add(number)  # its file tells it again
            if number not in told:
                key = stats_files.key_of(connection, process, self.options.assign)
                touched[key] = self.growing.setdefault(key, Growing(arm, self.host, key))
                self.seen += touched[key].take((*which, number), connection)
                if not connection["ended_ns"]:
                    lives[(*which, number)] = touched[key]
        if not self.options.target:  # in the kernel only news are told, and each end
            for number in self.lives.get(which, {}).keys() - lives.keys():
                growing = self.lives[which][number]
                if growing.lose(number):
                    touched[growing.settled.name] = growing
            self.lives[which] = lives
        for key, growing in touched.items():
            self._count(growing)
            if not growing.living and self.options.assign == "connection":
                del self.growing[key]

    def _count(self, growing, ends=False):
        """Count a unit that has enough exchanges, or have it grow; `ends`: as the experiment ends."""
        if growing.at is not None and self.fixed:
            return
        unit = growing.unit()
        if unit.exchanges < self.options.min_exchanges and (growing.living or not unit.exchanges):
            return
        if growing.at is not None:
            self.units[growing.at] = unit
            return
        size = 2 ** (len(self.units) // TOGETHER) if self.options.assign == "connection" else 1
        if size > 1 and growing.living and not self.fixed and not ends:
            return  # it changes yet, and a group does not
        growing.at = len(self.units)
        self.counted[unit.arm] += 1
        if size == 1:
            self.units.append(unit)
            return
        group = self.groups.setdefault(unit.arm, unit)
        if group is unit:
            group.together = size
        else:
            stats_files.add_unit(group, unit)
        if group.connections >= group.together:
            self.units.append(self.groups.pop(unit.arm))

    def _store(self):
        """Put all that was read so far into the results."""
        self.results.units = self.units
        totals = {}
        for key, row in self.rows.items():
            arm = self.arm_of.get(row["arm"])
            if arm:
                totals.setdefault(arm, []).append(without(row, self.before.get(key)))
        self.results.totals = [stats_files.sum_rows(rows, arm, self.host)
                               for arm, rows in totals.items()]

    def _close(self):
        for growing in self.growing.values():
            self._count(growing, ends=True)
        self.units += self.groups.values()
        self.groups = {}
        self._store()
        counted = sum(unit.connections for unit in self.results.totals)
        if counted > self.seen * 1.05 + 1:
            self.hints.append(f"{counted - self.seen} of {counted} connections began and ended "
                              "between two looks; they are in the table, not in the comparison")
        if not self.results.units:
            self.hints.append("no connection has had an exchange: was there traffic on new "
                              "connections?")


def without(row, before):
    """A row without the counts from before the experiment."""
    if before is None:
        return row
    made = dict(row)
    for name in COUNTED:
        made[name] = row[name] - before[name]
    counts = dict(map(tuple, row["exchange"]["buckets"]))
    for bucket, count in before["exchange"]["buckets"]:
        counts[bucket] -= count
    made["exchange"] = {"steps": row["exchange"]["steps"],
                        "buckets": [[n, count] for n, count in sorted(counts.items()) if count]}
    return made
