# SPDX-License-Identifier: MIT
"""A server under wrk, one thread and ten connections, as the tale of JRuby and Puma has it."""

import re
import subprocess

from .daemon import Daemon
from .measurement import Measurement
from .treatments import BARE

CONNECTIONS = 10
_SECONDS = 4
_WARM_SECONDS = 3


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


def _rate(treatment, scratch, command, path):
    with Daemon(command, treatment.env(), scratch) as server:
        treatment.assert_in(server.pid)
        _wrk(server.port, path, _WARM_SECONDS)  # the just-in-time compiler
        return _wrk(server.port, path, _SECONDS)


def measure_load(treatment, scratch, command, path, own_cure=None):
    """A Measurement of `command`'s server; bare, and with its own cure (a command too), beside it.

    The latencies are those that wrk gives: the half and the tenth of its requests that took longer.
    """
    rate, (half, most) = _rate(treatment, scratch, command, path)
    rates = {"treated": rate}
    if treatment.expects == "well":
        rates["bare"], _ = _rate(BARE, scratch, command, path)
        if own_cure:
            rates["own cure"], _ = _rate(BARE, scratch, own_cure, path)
    return Measurement((half,) * 8 + (most,) * 2, rates=rates)
