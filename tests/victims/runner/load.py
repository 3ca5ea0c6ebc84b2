# SPDX-License-Identifier: MIT
"""A server under wrk, one thread and ten connections, as the tale of JRuby and Puma has it."""

import contextlib
import re
import subprocess

from .daemon import Daemon
from .measurement import Measurement
from .treatments import BARE

CONNECTIONS = 10
_SECONDS = 2
# In turns, the best one counts: a neighbour on the machine takes more than anything that is compared.
_ROUNDS = 5
# Slices of load until the just-in-time compiler is done: the rate grows no more.  JRuby took 15 to 25 s here.
_WARM_SECONDS, _WARM_SLICES, _GROWTH = 3, 12, 1.05
_START_SECONDS = 60


def _wrk(port, path, seconds):
    done = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency",
                           f"http://127.0.0.1:{port}{path}"], check=True, capture_output=True, text=True,
                          timeout=seconds + 20)
    assert "Non-2xx" not in done.stdout and "Socket errors" not in done.stdout, done.stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout).group(1))
    return rate, [_milliseconds(done.stdout, percent) for percent in (50, 90)]


def _milliseconds(text, percent):
    found = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s)$", text, re.M)
    assert found, f"wrk gives no latency:\n{text}"
    return float(found.group(1)) * {"us": 1e-3, "ms": 1, "s": 1e3}[found.group(2)]


def warm_up(rate):
    """Call `rate()` until it has not grown three times in a row."""
    best, still = 0, 0
    for _ in range(_WARM_SLICES):
        now = rate()
        still = 0 if now > best * _GROWTH else still + 1
        best = max(best, now)
        if still == 3:
            return


def measure_load(treatment, scratch, command, path, own_cure=None):
    """A Measurement of `command`'s server, once it is warm.

    `own_cure` is the command with the program's own cure: where the treatment is to cure, it and bare are
    measured beside, in turns; without one nothing is judged. The latencies are wrk's: the median and the 90th
    percentile of its requests.
    """
    commands = {"treated": (treatment, command)}
    if treatment.expects == "cured" and own_cure:
        commands.update({"bare": (BARE, command), "own cure": (BARE, own_cure)})
    best = {}
    with contextlib.ExitStack() as stack:
        ports = {}
        for name, (how, what) in commands.items():
            server = stack.enter_context(Daemon(what, how.env(), scratch, name.replace(" ", "-"),
                                                _START_SECONDS))
            how.assert_in(server.pid)
            ports[name] = server.port
            warm_up(lambda port=server.port: _wrk(port, path, _WARM_SECONDS)[0])
        for _ in range(_ROUNDS if len(commands) > 1 else 1):
            for name, port in ports.items():
                best[name] = max(best.get(name, (0, ())), _wrk(port, path, _SECONDS))
    half, most = best["treated"][1]
    return Measurement((half,) * 8 + (most,) * 2, rates={name: rate for name, (rate, _) in best.items()})
