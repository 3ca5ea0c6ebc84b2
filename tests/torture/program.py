# SPDX-License-Identifier: MIT
"""Runs one tortured program against its checking peer and reports the errors."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import BUILD_ROOT, CURING_MODES, MODES, mode_env  # noqa: E402

BINARIES = BUILD_ROOT / "tests/torture"
ALL_MODES = ("bare", *MODES)
# Under a sanitizer all is several times as slow, and how late a byte comes says nothing (scripts/sanitize).
PATIENCE = int(os.environ.get("UNSTALL_TESTS_PATIENCE", "1"))
LEAST_LIMIT, LIMIT_EACH = 80, 0.15  # seconds a program, and for each operation of it
# Nagle alone keeps bytes for up to 200 ms (TCP_DELACK_MAX): judged where it is cured.
TOO_LATE_MS = 150
# The bound where no window is kept: the kernel's own timer, 205 to 280 ms.
WINDOWLESS_MS = 450

# struct shared and struct trace of shared.h
HEAD = struct.Struct("=QIIII")
TRACE = struct.Struct("=QIHH40s")
TRACES = 16384


# Errors that a busy machine alone can cause.  A forgotten byte is forgotten again when the seed is replayed.
_LATENESS = "ms after its write returned"
_WRONG = re.compile(rf"(?:actor \d+, operation \d+, )?link (\d+): (?:byte .* {_LATENESS}, at ([0-9.]+))?")


@dataclass
class Outcome:
    """The outcome of one program, and its errors."""
    mode: str
    seed: int
    operations: int = 0
    facts: dict = field(default_factory=dict)
    failures: list = field(default_factory=list)
    trace: list = field(default_factory=list)

    def only_late(self):
        """Whether lateness is all that is wrong."""
        return bool(self.failures) and all(_LATENESS in failure for failure in self.failures)

    def notes_of_failure(self, most=40):
        """The last operations on the link that failed first; where a byte was late, before it came."""
        for failure in self.failures:
            if wrong := _WRONG.match(failure):
                link, at = wrong[1], float(wrong[2] or "inf")
                mine = [note for note in self.trace if f" link {link}:" in note and
                        float(note.split()[0]) <= at]
                return mine[-most:]
        return []

    def __str__(self):
        lines = [f"mode {self.mode}, seed {self.seed}: {len(self.failures)} failures", *self.failures]
        return "\n  ".join(lines)


def read_memory(path):
    """(operations, the last notes in order) of the page of memory."""
    data = Path(path).read_bytes()
    _, _, operations, _, count = HEAD.unpack_from(data)
    base = len(data) - TRACES * TRACE.size
    notes = []
    for at in range(max(0, count - TRACES), count):
        when, link, actor, sequence, what = TRACE.unpack_from(data, base + at % TRACES * TRACE.size)
        text = what.split(b"\0")[0].decode("ascii", "replace")
        notes.append(f"{when / 1e6:.3f} actor {actor} #{sequence} link {link}: {text}")
    return operations, notes


def end_group(process):
    """The program and the children that it may have left."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def limit_of(operations):
    """After so many seconds a program of so many operations hangs."""
    return LEAST_LIMIT + LIMIT_EACH * operations * PATIENCE


def run_program(mode, seed, operations, *, environment=None, wrapper=(), judge_lateness=None):
    """One program, one seed.  `environment` may add variables, `wrapper` stands before the program."""
    outcome = Outcome(mode, seed)
    if judge_lateness is None:
        judge_lateness = mode in CURING_MODES and PATIENCE == 1
    with tempfile.TemporaryDirectory(prefix="unstall-torture-") as folder:
        memory = f"{folder}/memory"
        thread = ("own", "always", "never")[seed % 3]
        too_late_ms = WINDOWLESS_MS if thread != "always" and mode in ("auto", "cork") else TOO_LATE_MS
        peer = subprocess.Popen([str(BINARIES / "torture-peer"), memory, str(seed),
                                 str(too_late_ms if judge_lateness else 0)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ports = peer.stdout.readline().split()
        env = mode_env(mode, UNSTALL_REPORT=f"{folder}/report", UNSTALL_THREAD=thread, **(environment or {}))
        with open(f"{folder}/said", "w+", encoding="utf-8") as said:
            program = subprocess.Popen(
                [*wrapper, str(BINARIES / "torture"), *ports, memory, str(seed), str(operations)],
                env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
            try:
                code = program.wait(limit_of(operations))
                if code != 0:
                    outcome.failures.append(f"the program ended with {code}")
            except subprocess.TimeoutExpired:
                outcome.failures.append(f"the program hangs: {stacks(program.pid)}")
            end_group(program)
            said.seek(0)
            outcome.failures += said.read().splitlines()
        told, _ = peer.communicate()
        if mode != "bare" and not Path(f"{folder}/report").exists():
            outcome.failures.append("the library was not loaded: no report")
        outcome.facts = json.loads(told)
        outcome.failures += outcome.facts.pop("failures")
        outcome.operations, notes = read_memory(memory)
        if outcome.failures:
            outcome.trace = notes
    return outcome


def members(group):
    """The processes of a process group."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getpgid(int(entry.name)) == group:
                yield int(entry.name)
        except ProcessLookupError:
            pass


def stacks(group):
    """Where the threads of a hanging program and its children wait, as far as /proc and gdb say."""
    seen = []
    for pid in members(group):
        for task in sorted(Path(f"/proc/{pid}/task").iterdir()):
            try:
                call = (task / "syscall").read_text(encoding="ascii").split()
            except OSError:
                call = []
            seen.append(f"{pid}/{task.name}: {' '.join(call[:4])}")
        if shutil.which("gdb"):
            seen.append(subprocess.run(["timeout", "60", "gdb", "-q", "-batch", "-p", str(pid), "-ex",
                                        "thread apply all bt"],
                                       stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                       check=False).stdout)
    return "; ".join(seen)
