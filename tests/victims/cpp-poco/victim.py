# SPDX-License-Identifier: MIT
"""C++ streams over a socket: std::endl flushes."""

from pathlib import Path

from runner import Affected, Victim, build, line_server, made

HERE = Path(__file__).parent


def binary():
    def make(draft):
        build(["g++", "-O1", "-o", f"{draft}/server", HERE / "server.cpp", "-lPocoNet", "-lPocoFoundation"])

    return made(HERE / "server.cpp", make) / "server"


VICTIM = Victim(
    story="a line server on POCO's ServerSocket and SocketStream; each std::endl is a send",
    sick="server",
    needs=("g++",),
    packages=("libpoco-dev",),
    measure=line_server(binary),
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
