# SPDX-License-Identifier: MIT
"""Perl's HTTP::Tiny: header block and content are two syswrites, a select before each."""

from pathlib import Path

from runner import Affected, Victim, run_client

HERE = Path(__file__).parent
EXCHANGES = 25
BODY = "order=" + "x" * 94


def measure(treatment, scratch):
    def command(port):
        return ["/usr/bin/perl", HERE / "client.pl", port, EXCHANGES, BODY]

    return run_client(treatment, scratch, command, BODY.encode(), EXCHANGES)


VICTIM = Victim(
    story="HTTP::Tiny, in Perl's core, writes header and content by two writes, each after a select",
    sick="client",
    needs=("/usr/bin/perl",),
    measure=measure,
    verdict="it sends each message in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="Perl, HTTP::Tiny, post",
        package="perl",
        source="Send header and content in one write; HTTP::Tiny has no option for it.",
        observe="perl client.pl",
        words=("HTTP::Tiny",),
    ),
)
