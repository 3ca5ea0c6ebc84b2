# SPDX-License-Identifier: MIT
"""Drives a sick HTTP server over one kept connection."""

import re

from .daemon import Daemon
from .driver import Driver
from .measurement import measured
from .program import measures


def whole(so_far):
    """Whether a response with a Content-Length is all there."""
    head, blank, body = so_far.partition(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length:\s*(\d+)", head)
    return bool(blank) and bool(length) and len(body) >= int(length.group(1))


def run_http_server(treatment, scratch, command, exchanges, path, body, pid=None, ready="", **variables):
    """Ask `command`'s server for `path` again and again; `body` is the expected answer. A Measurement.

    `pid` is a function of the Daemon that gives the process to look at, where it is not the first one.
    `ready` is the Daemon's.
    """
    with Daemon(command, treatment.env(**variables), scratch, "server", ready=ready) as server:
        with Driver(server.port) as driver:
            for _ in range(exchanges):
                answer = driver.exchange(b"GET %s HTTP/1.1\r\nHost: localhost\r\n"
                                         b"Connection: keep-alive\r\n\r\n"
                                         % path.encode(), whole)
                head, _, rest = answer.partition(b"\r\n\r\n")
                assert b" 200 " in head.splitlines()[0] and rest == body, answer
            treatment.assert_in(pid(server) if pid else server.pid)
    return measured(driver.times_ms, driver.counts)


def orders(*words):
    """The measure() of a victim that answers /order with an order."""
    return measures(words, lambda *of: run_http_server(*of, 15, "/order", b"an order\n"))
