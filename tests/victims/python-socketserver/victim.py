# SPDX-License-Identifier: MIT
"""A line server on Python's socketserver sends each write at once: StreamRequestHandler has wbufsize 0."""

from runner import Affected, Victim, line_server

VICTIM = Victim(
    sick="server",
    needs=("/usr/bin/python3",),
    measure=line_server("/usr/bin/python3", "python-socketserver/server.py"),
    affected=Affected(
        software="CPython, socketserver.StreamRequestHandler",
        package="python3.11",
        source="`disable_nagle_algorithm = True` in the handler's class, or one write an answer.",
        measured=True,
        observe="python3 server.py",
        words=("socketserver",),
    ),
)
