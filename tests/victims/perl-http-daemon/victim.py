# SPDX-License-Identifier: MIT
"""HTTP::Daemon of libwww-perl prints status line, headers and content one by one."""

from runner import Affected, Victim, orders

VICTIM = Victim(
    sick="server",
    needs=("/usr/bin/perl",),
    packages=("libhttp-daemon-perl",),
    measure=orders("/usr/bin/perl", "perl-http-daemon/server.pl"),
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
