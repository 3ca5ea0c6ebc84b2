# SPDX-License-Identifier: MIT
"""Python's socketserver: wfile is unbuffered, each write is a send; a thread a connection."""

from pathlib import Path

from runner import Affected, Victim, line_server

VICTIM = Victim(
    story="a line server on Python's socketserver sends each write at once: StreamRequestHandler has "
          "wbufsize 0",
    sick="server",
    needs=("/usr/bin/python3",),
    measure=line_server("/usr/bin/python3", Path(__file__).with_name("server.py")),
    verdict="it sends each answer in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="CPython, socketserver.StreamRequestHandler",
        package="python3.11",
        source="`disable_nagle_algorithm = True` in the handler's class, or one write an answer.",
        measured=True,
        observe="python3 server.py",
        words=("socketserver",),
    ),
)
