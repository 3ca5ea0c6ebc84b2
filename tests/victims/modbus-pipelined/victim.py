# SPDX-License-Identifier: MIT
"""A Modbus server on libmodbus gets two requests at once (libmodbus#849): it reads one by exact lengths,
answers, and reads the next."""

import struct

from runner import Affected, Victim, all_there, asked, compiled

READ_HOLDING = 3


def framed(number, body):
    """MBAP: a transaction's number, the protocol, the length behind it, the unit."""
    return struct.pack(">HHHB", number, 0, len(body) + 1, 255) + body


def requests(number):
    """Two registers, one by one."""
    return b"".join(framed(2 * number + which, struct.pack(">BHH", READ_HOLDING, which, 1))
                    for which in range(2))


def right(number, so_far):
    return all_there(so_far, b"".join(
        framed(2 * number + which, struct.pack(">BBH", READ_HOLDING, 2, 1000 + which)) for which in range(2)))


VICTIM = Victim(
    sick="server",
    needs=("gcc",),
    packages=("libmodbus-dev",),
    measure=asked(lambda: compiled("modbus-pipelined/server.c", "gcc", "-O1", "-Wall", "-Wextra", "-Werror",
                                   libraries=["-lmodbus"]),
                  requests=requests, right=right),
    verdict="it sends a small answer while the one before is not acknowledged yet, and Nagle holds it",
    pieces=(11, 11),
    segments={"nodelay": 2, "auto": 2},
    affected=Affected(
        software="libmodbus, a server whose clients pipeline",
        package="libmodbus-dev",
        source="Set TCP_NODELAY on `modbus_get_socket()` behind `modbus_tcp_accept()`.",
        measured=True,
        observe="PROGRAM",
        libraries=("libmodbus.so",),
    ),
)
