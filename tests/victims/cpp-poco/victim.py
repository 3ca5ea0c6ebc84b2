# SPDX-License-Identifier: MIT
"""A line server on POCO's ServerSocket and SocketStream; each std::endl is a send."""

from runner import Affected, Victim, compiled, line_server

VICTIM = Victim(
    sick="server",
    needs=("g++",),
    packages=("libpoco-dev",),
    measure=line_server(lambda: compiled("cpp-poco/server.cpp", "g++", "-O1",
                                         libraries=("-lPocoNet", "-lPocoFoundation"))),
    affected=Affected(
        software="POCO, SocketStream with std::endl",
        package="libpoco-dev",
        source="`socket.setNoDelay(true)`. Better: Write '\\n', and flush once an answer.",
        measured=True,
        observe="PROGRAM",
        libraries=("libPocoNet.so",),
    ),
)
