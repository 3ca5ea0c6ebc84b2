# SPDX-License-Identifier: MIT
"""Drives a sick server that answers a line by a line with its length and a line with the words."""

from .daemon import Daemon
from .driver import Driver
from .measurement import measured
from .program import measures


def run_line_server(treatment, scratch, command, exchanges, **variables):
    """Start `command` (a function of the port that gives the argument list); its Measurement."""
    with Daemon(command, treatment.env(**variables), scratch, "server") as server:
        with Driver(server.port) as driver:
            for number in range(exchanges):
                said = b"line number %d" % number
                answer = driver.exchange(said + b"\n", lambda so_far: so_far.count(b"\n") == 2)
                assert answer == b"200 %d\nyou said %s\n" % (len(said), said), answer
            treatment.assert_in(server.pid)
    return measured(driver.times_ms, driver.counts)


def line_server(*words):
    """The measure() of a victim that is such a server."""
    return measures(words, lambda *of: run_line_server(*of, 15))
