# SPDX-License-Identifier: MIT
"""Is the cost of an exchange flat from one connection to ten thousand, from one thread to 64?"""

from .configurations import Configuration
from .exchanges import HOST
from .machine import LIB, pinned, program, run_json, running
from .rounds import paired

CONFIGURATIONS = [
    Configuration("one send", "one"),
    Configuration("TCP_NODELAY", "nodelay"),
    Configuration("unstall auto", "pieces", LIB, "auto"),
    Configuration("unstall coalesce", "pieces", LIB, "coalesce"),
]


def measure(kind, connections, rounds, exchanges):
    """kind: epoll, or threads (one for each connection)."""
    def once(configuration):
        argv = [program("server"), kind, configuration.way]
        with running(argv, configuration.env()) as server:
            return run_json([program("load"), HOST, server.said, str(connections),
                             str(4000 + 4 * connections), "10", str(exchanges // 10)])
    with pinned():
        return paired(CONFIGURATIONS, once, rounds)
