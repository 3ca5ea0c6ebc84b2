# SPDX-License-Identifier: MIT
"""Perl's Net::SMTP: each datasend, and the final dot, is a syswrite."""

from pathlib import Path

from runner import Affected, SmtpPeer, Victim, run_mailer

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    peer = SmtpPeer()
    result = run_mailer(treatment, scratch,
                        lambda port: ["/usr/bin/perl", HERE / "client.pl", port, EXCHANGES, *treatment.words],
                        peer, EXCHANGES)
    assert peer.mails == [b"Subject: %d\r\n\r\nDear b,\r\nthis is mail %d." % (number, number)
                          for number in range(1, EXCHANGES + 1)], peer.mails
    return result


VICTIM = Victim(
    story="Net::SMTP, in Perl's core, writes headers, text and the final dot of a mail by separate writes",
    sick="client",
    needs=("/usr/bin/perl",),
    measure=measure,
    verdict="it sends each message in three small writes and Nagle holds all but the first",
    segments={"nodelay": 6, "cork": 4, "coalesce": 4, "auto": 4},
    affected=Affected(
        software="Perl, Net::SMTP",
        package="perl",
        source="`$smtp->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)`. Better: one datasend a mail.",
        measured=True,
        observe="perl client.pl",
        words=("Net::SMTP",),
    ),
)
