# SPDX-License-Identifier: MIT
"""A line server on POCO's ServerSocket and SocketStream; each std::endl is a send."""

from pathlib import Path

from runner import Affected, Victim, build, line_server, made

HERE = Path(__file__).parent


def binary():
    def make(draft):
        build(["g++", "-O1", "-o", f"{draft}/server", HERE / "server.cpp", "-lPocoNet", "-lPocoFoundation"])

    return made(HERE / "server.cpp", make) / "server"


VICTIM = Victim(
    sick="server",
    needs=("g++",),
    packages=("libpoco-dev",),
    measure=line_server(binary),
    affected=Affected(
        software="POCO, SocketStream with std::endl",
        package="libpoco-dev",
        source="`socket.setNoDelay(true)`. Better: Write '\\n', and flush once an answer.",
        measured=True,
        observe="PROGRAM",
        libraries=("libPocoNet.so",),
    ),
)
