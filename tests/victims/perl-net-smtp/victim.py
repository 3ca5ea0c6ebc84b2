# SPDX-License-Identifier: MIT
"""Net::SMTP, in Perl's core, writes headers, text and the final dot of a mail by separate writes."""

from runner import Affected, SmtpPeer, Victim, talks


def got(peer, _):
    return peer.mails == [b"Subject: %d\r\n\r\nDear b,\r\nthis is mail %d." % (number, number)
                          for number in range(1, 16)]


VICTIM = Victim(
    sick="client",
    needs=("/usr/bin/perl",),
    measure=talks("/usr/bin/perl", "perl-net-smtp/client.pl", peer=SmtpPeer, got=got),
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
