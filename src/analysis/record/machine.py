# SPDX-License-Identifier: MIT
"""Facts about this machine that can explain a difference between two results."""

import os
import platform
import socket


def processor():
    """The name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def describe():
    """The facts, for the file of results."""
    libc = " ".join(platform.libc_ver()).strip()
    return {
        "host": socket.gethostname(),
        "kernel": platform.release(),
        "processor": processor(),
        "processors": len(os.sched_getaffinity(0)),
        "libc": libc,
        "load": round(os.getloadavg()[0], 2),
    }


def in_words(name, machine):
    """One line.  Results from statistics files have no machine: a statistics file does not name its host."""
    if not machine:
        return f"{name}: known by its statistics files alone"
    return (f"{name}: Linux {machine['kernel']}, {machine['processor']}, "
            f"{machine['processors']} processor{'s' * (machine['processors'] != 1)}, "
            f"{machine['libc']}, load {machine['load']} at the start")
