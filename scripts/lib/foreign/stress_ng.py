# SPDX-License-Identifier: MIT
"""stress-ng --verify: each stressor of a class is a test; one at a time, few operations, little memory."""

import re
import shutil
import subprocess

from .programs import Programs, plain

CLASSES = ("network", "interrupt", "pipe", "scheduler", "memory", "os")  # os has most of the others, too

LEFT_OUT = {
    "cpu-online": "takes processors away",
    "memhotplug": "takes memory away",
    "dev": "opens every device of the machine",
    "watchdog": "arms the watchdog",
    "swap": "adds swap to the machine",
    "quota": "changes quotas of the file systems",
    "loop": "takes loop devices",
    "efivar": "reads the firmware's variables without end",
    "sysfs": "reads every file of /sys, some of which configure the machine",
    "softlockup": "takes the processors from everybody, by real-time priority",
    "cyclic": "takes a processor from everybody, by real-time priority",
    "oom-pipe": "takes all memory that pipes may have",
    "resources": "takes all resources of the machine",
    "sysinval": "makes system calls with any arguments, as root",
    "enosys": "makes system calls that may exist one day",
    "opcode": "executes random instructions",
}

# Each stressor that has -bytes gets it.  These have other sizes without a small bound.
BOUNDS = {
    "forkheavy": ("--forkheavy-procs", "32"),
    "zombie": ("--zombie-max", "64"),
    "fork": ("--fork-max", "4"),
    "vfork": ("--vfork-max", "4"),
    "mlockmany": ("--mlockmany-procs", "16"),
}

# Short enough to run beside Python's suites: stressors that met a defect of ours, and each kind of wait once.
QUICK = {"sock", "sockmany", "sockfd", "sockabuse", "epoll", "sigrt", "sigq", "sigfd", "sigio", "timer",
         "poll", "mq",
         "sem-sysv", "futex", "pthread", "clone", "vfork", "fork", "close", "seccomp", "cap", "unshare",
         "sysbadaddr", "key", "kcmp", "rlimit", "splice", "sendfile", "aio"}

SKIPPED = {3, 4}  # no resource, not implemented: stress-ng(1), EXIT STATUS


def asked(*words):
    """The output of stress-ng."""
    return subprocess.run(["stress-ng", *words], capture_output=True, text=True, check=False).stdout


def missing():
    """Why these suites cannot run here; empty if they can."""
    return "" if shutil.which("stress-ng") else "stress-ng is not installed"


class Class(Programs):
    """A class of stressors."""

    def __init__(self, name, confined, operations):
        super().__init__(confined)
        self.operations = operations
        self.name = f"stress-ng {name}"
        stressors = asked("--class", f"{name}?").partition("stressors:")[2].split()
        self.tests = [one for one in stressors if one not in LEFT_OUT]
        self.options = set(re.findall(r"--[\w-]+", asked("--help")))

    def command(self, test, folder):
        bounds = [f"--{test}-bytes", "16M"] if f"--{test}-bytes" in self.options else []
        bounds += BOUNDS.get(test, ())
        return ["prlimit", f"--data={1 << 30}", "stress-ng", f"--{test}", "1", f"--{test}-ops",
                self.operations,
                *bounds, "--timeout", "1", "--verify", "--oomable", "--no-rand-seed", "--temp-path", folder]

    def outcome(self, status, text):
        if status is None:
            return "hung"
        said = sorted({plain(line.partition("] ")[2]) for line in text.splitlines() if " fail: " in line})
        if status in SKIPPED or (status == 0 and re.search(r"skipp(ed|ing)", text)):
            return "skipped"
        if status == 0 and not said:
            return "passed"
        return f"failed: {'; '.join([f'status {status}', *said])}"


def version():
    """Its name in the document."""
    return asked("--version").partition(" (")[0].replace(", version", "")


def suites(confined, quick=False):
    """A suite a class; a stressor that is in several is in the first."""
    known, several = set(), []
    for name in CLASSES:
        suite = Class(name, confined, "20" if quick else "100")
        suite.tests = [one for one in suite.tests if one not in known and (one in QUICK or not quick)]
        known |= set(suite.tests)
        several.append(suite)
    return [suite for suite in several if suite.tests]
