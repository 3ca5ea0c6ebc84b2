# SPDX-License-Identifier: MIT
"""Drives a sick server by requests that leave as one segment each, be it of two requests."""

from .daemon import Daemon
from .driver import Driver
from .measurement import measured
from .program import measures


def run_asked(treatment, scratch, command, requests, right, exchanges=20, pid=None):
    """Start `command` (a function of the port that gives the argument list); its Measurement.

    requests  of exchange number k: the bytes
    right     of k and the bytes so far: whether all answers are there; a wrong one is an AssertionError
    pid       gives the process to look at, of the Daemon, where it is not the first one
    """
    with Daemon(command, treatment.env(), scratch, "server") as server, Driver(server.port) as driver:
        for number in range(exchanges):
            driver.exchange(requests(number), lambda so_far, number=number: right(number, so_far))
        treatment.assert_in(pid(server) if pid else server.pid)
    return measured(driver.times_ms, driver.counts)


def asked(*words, requests, right, more=(), exchanges=20):
    """The measure() of a victim that is such a server: WORDS PORT MORE."""
    return measures(words, lambda *of: run_asked(*of, requests, right, exchanges), *more)


def all_there(so_far, answers):
    """Whether these bytes, of which none may be wrong, are all there."""
    assert answers.startswith(so_far), so_far[:400]
    return so_far == answers
