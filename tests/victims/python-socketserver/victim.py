# SPDX-License-Identifier: MIT
"""Python's socketserver: wfile is unbuffered, each write is a send; a thread a connection."""

from pathlib import Path

from runner import Affected, Victim, run_line_server

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    own = ["nodelay"] if treatment.own else []
    return run_line_server(treatment, scratch,
                           lambda port: ["/usr/bin/python3", HERE / "server.py", port, *own], EXCHANGES)


VICTIM = Victim(
    story="a line server on Python's socketserver sends each write at once: StreamRequestHandler has "
          "wbufsize 0",
    sick="server",
    needs=("/usr/bin/python3",),
    measure=measure,
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
