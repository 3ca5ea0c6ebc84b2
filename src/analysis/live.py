# SPDX-License-Identifier: MIT
"""A running server as the experiment: each connection (or peer, or listener) gets an arm by chance.

The library assigns (UNSTALL_ARMS, or the control block of the segment by `unstall set`); here the
segments are read again and again.  A connection is judged once, when it has ended or has had
--min-exchanges exchanges, and in that order it enters the confidence sequence by which --until-sure
and the guard decide: what is looked at so often must be valid at all times.
"""

import contextlib
import os
import subprocess
import time

import processes
import segments
from analysis import analyse
from histogram import Histogram
from results import BadFile, Unit
from verdict import is_decided, state_of

POLL_S = 0.5
COUNTED = ("exchanges", "exchange_ns", "segments", "messages", "connections", "connections_ended",
           "stalls_proved")


def set_words(options):
    """What `unstall set` is told to begin the experiment."""
    return ["--arms", arms_text(options), "--assign", options.assign, "--seed", str(options.seed)]


def arms_text(options):
    """As UNSTALL_ARMS wants them."""
    from rounds import mode_of
    return ",".join(f"{mode_of(arm)}:{options.weights[arm]}" for arm in options.arms)


def steer(options, targets, *words):
    """`unstall set`; BadFile with what it complains about."""
    if not targets:
        return
    done = subprocess.run([options.unstall, "set", "--wait", "0", *words, *targets], check=False,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=segments.quiet_environment())
    if done.returncode != 0:
        raise BadFile(done.stderr.strip().removeprefix("unstall set: "))


def segments_of(pid):
    """The segments of a process and of all below it; BadFile if it has none."""
    found = []
    for member in processes.family(pid):
        try:
            found += [path for path in segments.pid_segments(member) if path not in found]
        except BadFile:
            if member == pid:
                raise
    if not found:
        raise BadFile(f"{pid}: has no statistics segment; start it with unstall run --stats DIR")
    return found


def kill(options):
    """The kill switch: all connections on off, now."""
    if options.pid is None:
        raise BadFile("--kill: needs --live PID")
    steer(options, segments_of(options.pid), "--kill")
    print(f"All connections of {options.pid} go by off. To take that back: "
          f"unstall set {options.pid} --unkill")
    return 0


class Live:
    """Runs one live experiment into `results`."""

    def __init__(self, options, results, progress, keep):
        self.options, self.results, self.progress, self.keep = options, results, progress, keep
        self.host = next(iter(results.machines))
        self.hints = []
        self.judged = {}       # key -> (arm, unit), in the order of judgement
        self.open = {}         # key -> unit so far
        self.parts = {}        # (key of the unit, connection) -> what it has had
        self.rows = {}         # (process, row) -> the row as it was last seen
        self.before = {}       # ... and as it was when the experiment began
        self.killed = False
        self.seen = set()
        self.began = time.monotonic()
        self.since_ns = 0      # of CLOCK_MONOTONIC: who was born before takes no part
        self.arm_of = dict(enumerate(options.arms))

    def go(self):
        """All of it; sets results.ending."""
        try:
            if self.options.pid is not None:
                self._with_process()
            else:
                self._with_server()
        except processes.Interrupted:
            if self.options.time:
                raise  # was to take longer; without --time an interrupt is its ordinary end
        finally:
            self._close()
        if self.results.ending == "running":
            self.results.ending = "complete"

    def _with_server(self):
        options = self.options
        arms = {"UNSTALL_MODE": "off", "UNSTALL_ARMS": arms_text(options),
                "UNSTALL_ASSIGN": options.assign, "UNSTALL_SEED": str(options.seed)}
        with segments.Folder() as folder:
            env = processes.environment("off", options.library, folder.path, arms)
            with processes.Program(options.command, env, options.show_output) as server:
                try:
                    self._watch(folder.files, lambda wait: server.ended(wait))
                    if server.usage and server.usage.how:
                        raise processes.Failed(f"{server.argv[0]}: {server.usage.how}"
                                               f"{server.complaint()}")
                finally:
                    if not server.usage:
                        self._look(folder.files())  # its connections, before they are torn down
                        server.stop()
                    self._look(folder.files())

    def _with_process(self):
        pid = self.options.pid
        found = segments_of(pid)
        self._remember(found)
        self.since_ns = time.monotonic_ns()
        fd = os.pidfd_open(pid)
        try:
            steer(self.options, found, *set_words(self.options))
            self._watch(lambda: self._segments_now(pid), lambda wait: processes.wait_for(fd, wait))
        finally:
            os.close(fd)
            self._look(found)
            if not self.killed:
                with contextlib.suppress(BadFile):  # it may have ended meanwhile
                    steer(self.options, self._segments_now(pid), "--arms", "none")

    def _segments_now(self, pid):
        try:
            return segments_of(pid)
        except BadFile:
            return []

    def _remember(self, found):
        for path in found:
            for process in segments.report(self.options.unstall, path):
                for row in process["rows"]:
                    self.before[self._row_key(process, row)] = row

    def _watch(self, files, wait):
        """Look until time is up, it has ended, or the answer is clear."""
        self.began = time.monotonic()
        kept = self.began
        while True:
            left = self.options.time - (time.monotonic() - self.began) if self.options.time else 1e9
            if left <= 0 or wait(min(POLL_S, left)):
                return
            self._look(files())
            self.progress(self._where())
            if time.monotonic() - kept > 5:
                kept = time.monotonic()
                self._store()
                self.keep()
            if not self.killed and self._decide(files):
                return

    def _where(self):
        text = f"{time.monotonic() - self.began:.0f} s"
        for arm in self.options.arms:
            text += f", {arm} {sum(1 for name, _ in self.judged.values() if name == arm)}"
        return text + " judged"

    def _decide(self, files):
        """Has the guard or --until-sure ended the experiment?"""
        options = self.options
        if not (options.until_sure or options.stop_if):
            return False
        self._store()
        analysis = analyse(self.results, describing=False)
        if options.stop_if:
            worse = [one.arm for one in analysis.against
                     if state_of(one, options.confidence, options.margin) == "worse"]
            if worse:
                return self._stop(worse, files())
        if options.until_sure and is_decided(analysis, options.margin):
            self.results.ending = "sure"
            return True
        return False

    def _stop(self, worse, found):
        """The guard: everything on off at once.  A server of ours goes on running, on off."""
        steer(self.options, found, "--kill")
        self.killed = True
        what = f"{', '.join(worse)} is surely worse than {self.results.experiment['base']}: " \
               "all connections go by off"
        if self.options.pid is not None:
            what += f" (to take that back: unstall set {self.options.pid} --unkill)"
        self.results.events.append({"at_s": time.monotonic() - self.began, "what": what})
        self.results.ending = "guard"
        self.progress.note(what)
        return self.options.pid is not None

    # ---- reading ----

    @staticmethod
    def _row_key(process, row):
        return process["pid"], process["started_ns"], row["index"]

    def _look(self, found):
        """Read the segments as they are now."""
        if self.killed:
            return  # what comes now is no experiment any more
        for path in found:
            try:
                reports = segments.report(self.options.unstall, path)
            except BadFile:
                continue  # it has just gone, or is just being made
            for process in reports:
                self._take(process)

    def _take(self, process):
        for row in process["rows"]:
            if row["arm"] is not None:
                self.rows[self._row_key(process, row)] = row
        for connection in process["connections"]:
            arm = self.arm_of.get(connection["arm"]) if connection["arm"] is not None else None
            if arm is None or connection["born_ns"] < self.since_ns:
                continue
            self._connection(arm, process, connection)

    def _connection(self, arm, process, connection):
        key = segments.key_of(connection, process, self.options.assign)
        self.seen.add((process["pid"], process["started_ns"], connection["serial"]))
        if key in self.judged and self.options.until_sure | bool(self.options.stop_if):
            return  # once judged is judged
        part = self.parts.setdefault(key, {})
        part[process["pid"], process["started_ns"], connection["serial"]] = connection
        unit = self._unit(key, arm, part.values())
        ended = all(one["ended_ns"] for one in part.values())
        if unit.exchanges >= self.options.min_exchanges or (ended and unit.exchanges):
            self.judged[key] = (arm, unit)
        else:
            self.open[key] = unit

    def _unit(self, key, arm, connections):
        unit = Unit(arm, self.host, name=key, exchanges=0, exchange_ns=0, segments=0, messages=0,
                    connections=0, stalls=0)
        for one in connections:
            unit.exchanges += one["exchanges"]
            unit.exchange_ns += one["exchange_ns"]
            unit.messages += one["messages"]
            unit.connections += 1
            unit.stalls += one["stalls_proved"]
            unit.histogram.add(Histogram.of_json(one["exchange"]))
            unit.segments = (None if unit.segments is None or not one["ended_ns"]
                             else unit.segments + one["segments"])
        return unit

    def _store(self):
        """What was seen until now, into the results."""
        self.results.units = [unit for _, unit in self.judged.values()]
        totals = {}
        for key, row in self.rows.items():
            arm = self.arm_of.get(row["arm"])
            if arm:
                totals.setdefault(arm, []).append(without(row, self.before.get(key)))
        self.results.totals = [segments.sum_rows(rows, arm, self.host)
                               for arm, rows in totals.items()]

    def _close(self):
        self._store()
        counted = sum(unit.connections for unit in self.results.totals)
        if counted > len(self.seen) * 1.05 + 1:
            self.hints.append(f"{counted - len(self.seen)} of {counted} connections came and went "
                              "unseen; they count in the table, not in the comparison")
        if not self.results.units:
            self.hints.append("no connection has had an exchange: was there traffic on new "
                              "connections?")


def without(row, before):
    """A row, less what had been counted before the experiment."""
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
