# SPDX-License-Identifier: MIT
"""Ports for servers that must be told theirs."""

import socket

_reserved = []  # sockets, open until this process ends


def free_port():
    """A port of 127.0.0.1 for a server that binds with SO_REUSEADDR; no other program gets it meanwhile.

    A port that is only looked up and let go can become another test's before the server has bound it. A
    bound socket that does not listen keeps it: the kernel picks this port for no bind(2) to port 0 and no
    connect(2), and lets a second socket bind it if both have SO_REUSEADDR (socket(7)).
    """
    keeper = socket.socket()
    keeper.bind(("127.0.0.1", 0))  # before the option: a port that another keeper has is not picked
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _reserved.append(keeper)
    return keeper.getsockname()[1]
