# SPDX-License-Identifier: MIT
"""Perl's HTTP::Daemon."""

from pathlib import Path

from runner import Affected, Victim, run_http_server

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    own = ["nodelay"] if treatment.own else []
    return run_http_server(treatment, scratch,
                           lambda port: ["/usr/bin/perl", HERE / "server.pl", port, *own], EXCHANGES,
                           "/order", b"an order\n")


VICTIM = Victim(
    story="HTTP::Daemon of libwww-perl prints status line, headers and content one by one",
    sick="server",
    needs=("/usr/bin/perl",),
    packages=("libhttp-daemon-perl",),
    measure=measure,
    verdict="it sends each answer in many small writes and Nagle holds all but the first",
    segments={"nodelay": 6, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="Perl, HTTP::Daemon",
        package="libhttp-daemon-perl",
        source="`$client->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)` after accept",
        measured=True,
        observe="perl server.pl",
        words=("HTTP::Daemon",),
    ),
)
