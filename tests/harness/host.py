# SPDX-License-Identifier: MIT
"""The part of this virtual machine's processors that its host took.

Run as a program, it prints how many processors the host leaves.
"""

import contextlib
import os
import subprocess
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK") * os.cpu_count()  # that a second has
LEAST_S = 0.5  # a shorter time has too few ticks to judge by
MUCH = 0.1  # where more is taken, a time measured says more about the host than about the program


def _ticks():
    """(seconds of a clock, ticks counted by the kernel in which the machine's processors ran or were idle).

    A processor that its host stops counts no tick.  When it goes on, it counts one for all it missed, or
    counts them as stolen (proc(5), `cpu` in /proc/stat).
    """
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, idle, iowait, irq, softirq = map(int, file.readline().split()[1:8])
    return time.monotonic(), user + nice + system + idle + iowait + irq + softirq


class HostWatch:
    """From its making on, the time that the host took."""

    def __init__(self):
        self._start = _ticks()

    def share_taken(self):
        """Of the time since then, and at least LEAST_S: 0 on a machine that ran all the while."""
        started, before = self._start
        time.sleep(max(0, started + LEAST_S - time.monotonic()))
        now, after = _ticks()
        return 1 - (after - before) / ((now - started) * TICKS)


def processors_left(seconds=2):
    """How many of the machine's processors its host leaves it when it wants all."""
    with contextlib.ExitStack() as stack:
        for _ in range(os.cpu_count()):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]))
            stack.callback(busy.kill)
        watch = HostWatch()
        time.sleep(seconds)
        return os.cpu_count() * (1 - watch.share_taken())


if __name__ == "__main__":
    print(f"{processors_left():.1f}")
