# SPDX-License-Identifier: MIT
"""A server under wrk, one thread and ten connections, as the tale of JRuby and Puma has it."""

import re
import subprocess

from .daemon import Daemon
from .measurement import Measurement
from .treatments import BARE

CONNECTIONS = 10
_SECONDS = 3
# In turns, the best one counts: a neighbour on the machine takes more than anything that is compared.
_ROUNDS = 2


def _wrk(port, path, seconds):
    done = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency",
                           f"http://127.0.0.1:{port}{path}"], check=True, capture_output=True, text=True,
                          timeout=seconds + 20)
    assert "Non-2xx" not in done.stdout and "Socket errors" not in done.stdout, done.stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout).group(1))
    return rate, [_milliseconds(done.stdout, percent) for percent in (50, 90)]


def _milliseconds(text, percent):
    number, unit = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s)$", text, re.M).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def _rate(treatment, scratch, command, path, warm):
    with Daemon(command, treatment.env(), scratch) as server:
        treatment.assert_in(server.pid)
        _wrk(server.port, path, warm)  # the just-in-time compiler
        return _wrk(server.port, path, _SECONDS)


def measure_load(treatment, scratch, command, path, own_cure=None, warm=3):
    """A Measurement of `command`'s server, after `warm` seconds of the same load.

    `own_cure` is the command with the program's own cure: then it and bare are measured beside, to be
    compared with; without one nothing is judged.
    The latencies are those that wrk gives: the half and the tenth of its requests that took longer.
    """
    commands = {"treated": (treatment, command)}
    if treatment.expects == "well" and own_cure:
        commands.update({"bare": (BARE, command), "own cure": (BARE, own_cure)})
    best = {}
    for _ in range(_ROUNDS if len(commands) > 1 else 1):
        for name, (how, what) in commands.items():
            best[name] = max(best.get(name, (0, ())), _rate(how, scratch, what, path, warm))
    half, most = best["treated"][1]
    return Measurement((half,) * 8 + (most,) * 2, rates={name: rate for name, (rate, _) in best.items()})
