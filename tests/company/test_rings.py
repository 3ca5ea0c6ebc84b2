# SPDX-License-Identifier: MIT
"""Connections that an io_uring reads and writes: TCP_NODELAY, as soon as the ring is known of.

liburing makes its system calls inline, so only a look at the process's descriptors finds a ring.
"""

import pytest

from clients import OWN, binary
from harness import (CURING_MODES, MODES, PASSING_MODES, WARM, compile_c, least, preload_env,
                     run_judged, run_strace)

EXCHANGES = WARM + 13
CONNECTIONS = 3
RING = str(OWN / "ring.c")

# How liburing comes into the program.
LINKED = ("-luring", "-l:liburing.a")


def measured(library, how, mode, *more):
    program = binary("rings", *more[:1] or [RING], libraries=[] if more else [library.removeprefix("-l")])
    return run_judged(program, mode, EXCHANGES, CONNECTIONS, how, *more[1:])


@pytest.mark.parametrize("mode", ("bare", *PASSING_MODES))
def test_it_stalls_where_nothing_is_cured(mode):
    done = measured("-luring", "first", mode)
    assert done.stalls
    assert done.facts["nodelay"] == [0] * CONNECTIONS


@pytest.mark.parametrize("mode", CURING_MODES)
def test_cured_from_the_first_connection_on_where_liburing_is_loaded(mode):
    done = measured("-luring", "first", mode)
    assert not done.stalls
    assert done.facts["nodelay"] == [1] * CONNECTIONS


@pytest.mark.parametrize("mode", CURING_MODES)
@pytest.mark.parametrize("how", ("first", "connected", "open"))
@pytest.mark.parametrize("library", LINKED)
def test_cured_once_a_connection_has_passed_unseen(library, how, mode):
    done = measured(library, how, mode)
    assert not done.stalls
    assert done.facts["nodelay"][1:] == [1] * (CONNECTIONS - 1)


@pytest.mark.parametrize("mode", ("bare", *MODES))
def test_a_plugin_finds_its_own_liburing(mode):
    """Loaded by dlopen(RTLD_LOCAL): names of liburing that we exported stood before it and found no next."""
    plugin = compile_c(RING, "-shared", "-fPIC", libraries=["uring"])
    done = measured("", "first", mode, "-DPLUGIN", plugin)
    assert done.stalls is (mode not in CURING_MODES)


# ---- the cost of a look without a ring ---------------------------------------

SILENT = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
for _ in range({}):
    client = socket.create_connection(listener.getsockname())
    server = listener.accept()[0]
    {}
    client.close()
    server.close()
"""


def looks(mode, between, connections):
    argv = ["/usr/bin/python3", "-S", "-c", SILENT.format(connections, between)]
    return [call for call in run_strace(argv, preload_env(mode)).calls
            if call.name in ("readlink", "readlinkat") and call.has("/proc/self/fd/")]


@pytest.mark.parametrize("mode", MODES)
def test_connections_that_pass_nothing_cost_four_looks_at_the_most(mode):
    found = looks(mode, "pass", 40)
    assert (0 < len(found) <= 4 * 128) is (mode in CURING_MODES)
    assert mode in CURING_MODES or found == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("between", (
    "client.send(b'x'); server.recv(1)",
    "client.shutdown(socket.SHUT_WR); server.shutdown(socket.SHUT_WR); client.recv(1); server.recv(1)",
))
def test_no_look_where_the_application_reads_and_writes(mode, between):
    # A program that is kept from the processor for 10 ms before it writes is looked at.
    assert least(lambda: len(looks(mode, between, 10)), 1) == 0
