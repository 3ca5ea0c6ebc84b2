# SPDX-License-Identifier: MIT
"""C++ streams over a socket: std::endl flushes."""

from pathlib import Path

from runner import Affected, Victim, build, made, run_line_server

HERE = Path(__file__).parent
EXCHANGES = 15


def binary():
    def make(draft):
        build(["g++", "-O1", "-o", f"{draft}/server", HERE / "server.cpp", "-lPocoNet", "-lPocoFoundation"])

    return made(HERE / "server.cpp", make) / "server"


def measure(treatment, scratch):
    own = ["nodelay"] if treatment.own else []
    server = binary()
    return run_line_server(treatment, scratch, lambda port: [server, port, *own], EXCHANGES)


VICTIM = Victim(
    story="a line server on POCO's ServerSocket and SocketStream; each std::endl is a send",
    sick="server",
    needs=("g++",),
    packages=("libpoco-dev",),
    measure=measure,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="POCO, SocketStream with std::endl",
        package="libpoco-dev",
        source="`socket.setNoDelay(true)`. Better: Write '\\n', and flush once an answer.",
        measured=True,
        observe="PROGRAM",
        libraries=("libPocoNet.so",),
    ),
)
