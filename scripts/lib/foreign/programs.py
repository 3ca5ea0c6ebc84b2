# SPDX-License-Identifier: MIT
"""Suites of which each test is a program: each runs bare twice, then in every mode."""

import concurrent.futures
import os
import re
import subprocess
import tempfile
import time

from . import say
from .host import plain_environment, run_bounded
from .judge import Judged, Run, compare, word

MODES = ("off", "auto", "coalesce")
HEAD = ["suite", "compared", "left out", *MODES, "time bare"]

# Root's tests mount, name the host, configure interfaces, signal all processes and fill the disk.  So they
# run in namespaces of their own and on small file systems in memory.  A test is not process 1, which signals
# do not end.  The clock, the kernel's modules and the reboot have no namespace: the right to them is dropped.
_ENTER = """
mount -t tmpfs -o size=1G,mode=777 tests "$TMPDIR" && mount -t tmpfs -o size=256M,mode=1777 tests /dev/shm &&
    cd "$TMPDIR" && ip link set lo up || exit 125
echo 64 >/proc/sys/fs/mqueue/msg_max # POSIX tests ask for 40
"$@"
exit $?"""
CONFINED = ("unshare", "--mount", "--uts", "--ipc", "--pid", "--net", "--fork", "--kill-child",
            "--mount-proc",
            "sh", "-c", _ENTER, "sh", "setpriv", "--bounding-set", "-sys_time,-sys_boot,-sys_module")


def confinement():
    """The words before a command that confine its changes to namespaces of its own.

    A user other than root needs none.  Root of a container that may not make namespaces cannot change the
    machine either.
    """
    if os.geteuid() != 0:
        return ()
    with tempfile.TemporaryDirectory(prefix="us-") as folder:
        done = subprocess.run([*CONFINED, "true"], env=plain_environment() | {"TMPDIR": folder},
                              capture_output=True, check=False)
    return CONFINED if done.returncode == 0 else ()


def plain(line):
    """A line of output without numbers that differ from run to run."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", line).strip()


class Programs:
    """One suite.  A subclass has `name`, `tests` (names), command(test, folder) and outcome(status, text)."""
    name = ""
    tests = ()
    limit = 10  # seconds a test
    jobs = 1

    def __init__(self, confined):
        self.confined = confined

    def command(self, test, folder):
        """The command of a test, which has `folder` for its own."""
        raise NotImplementedError

    def outcome(self, status, text):
        """The outcome by exit status (None: its time was up) and output."""
        raise NotImplementedError

    def variables(self):
        """The variables that the tests' environment has besides."""
        return {}

    def only(self, test):
        """Every test can be run by itself."""
        return test

    def run(self, mode, host, only):
        """One test."""
        with tempfile.TemporaryDirectory(prefix="us-") as folder:
            os.chmod(folder, 0o777)  # tests become other users
            preloads = [f"{name}={value}" for name, value in host.variables(mode).items()]
            command = [*self.confined, "env", *preloads, "nice", "-n", "10", *self.command(only, folder)]
            env = plain_environment() | {"TMPDIR": folder} | self.variables()
            begin = time.monotonic()
            status, text = run_bounded(command, env, self.limit, folder)
            return Run({only: self.outcome(status, text)}, time.monotonic() - begin)

    def compared(self, test, host, modes):
        """Run one test bare twice, then in each mode; give its Run of each mode and the judgements.

        Where it does not run bare, or ends otherwise the second time, there is nothing to compare with.
        """
        runs = {"bare": self.run("bare", host, test)}
        outcome = runs["bare"].outcomes[test]
        if word(outcome) in ("skipped", "hung"):
            return runs, []
        again = self.run("bare", host, test).outcomes[test]
        if again != outcome:
            return runs, [Judged(self.name, "bare", test, "noise", [outcome], [again])]
        runs |= {mode: self.run(mode, host, test) for mode in modes}
        return runs, compare(self, runs, modes, host, lambda line: print(line, flush=True))


def run_programs(suite, host, modes=MODES):
    """All tests of a suite; give (a line of the table, the judgements)."""
    print(suite.name, flush=True)
    with concurrent.futures.ThreadPoolExecutor(suite.jobs) as pool:
        done = list(pool.map(lambda test: suite.compared(test, host, modes), suite.tests))
    judged = [one for _, several in done for one in several]
    bare = Run()
    for runs, _ in done:
        bare.outcomes |= runs["bare"].outcomes
        bare.seconds += runs["bare"].seconds
    noise = sum(one.verdict == "noise" for one in judged)
    asleep = sum(word(outcome) in ("skipped", "hung") for outcome in bare.outcomes.values())
    print(f"  bare: {bare.counted()}, {noise} noise", flush=True)
    return ([suite.name, f"{len(suite.tests) - asleep - noise}", f"{asleep} not here, {noise} noise",
             *say.verdicts(modes, judged), f"{bare.seconds:.0f} s"], judged)
