# SPDX-License-Identifier: MIT
"""Drives a sick server with two requests under way, which leave as one segment."""

from .daemon import Daemon
from .driver import Driver
from .measurement import measured


def run_pipelined(treatment, scratch, command, exchanges, requests, right, pid=None):
    """Start `command` (a function of the port that gives the argument list); its Measurement.

    requests  of exchange number k: the bytes of two requests
    right     of k and the bytes so far: whether both answers are there; a wrong one is an AssertionError
    pid       gives the process to look at, of the Daemon, where it is not the first one
    """
    with Daemon(command, treatment.env(), scratch, "server") as server:
        with Driver(server.port) as driver:
            for number in range(exchanges):
                driver.exchange(requests(number), lambda so_far, number=number: right(number, so_far))
            treatment.assert_in(pid(server) if pid else server.pid)
    return measured(driver.times_ms, driver.counts)
