# SPDX-License-Identifier: MIT
"""Ruby's Net::IMAP: tag, command, each argument and the line's end are writes; another thread reads."""

from pathlib import Path

from runner import Affected, ImapPeer, Victim, run_mailer

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    peer = ImapPeer()
    result = run_mailer(treatment, scratch,
                        lambda port: ["ruby", HERE / "client.rb", port, EXCHANGES], peer, EXCHANGES)
    made = [words for words in peer.commands if words.startswith(b"CREATE")]
    assert made == [b"CREATE folder%d" % number for number in range(EXCHANGES)], peer.commands
    return result


VICTIM = Victim(
    story="Net::IMAP, in Ruby's standard library, writes a command word by word; another thread reads the "
          "answers",
    sick="client",
    needs=("ruby",),
    measure=measure,
    verdict="it sends each message in many small writes and Nagle holds all but the first",
    segments={"nodelay": 4, "cork": 1, "coalesce": 1, "auto": 1},
    affected=Affected(
        software="Ruby, Net::IMAP",
        package="ruby3.1",
        source="None; a program cannot change it, because Net::IMAP gives no access to its socket.",
        observe="ruby client.rb",
        words=("Net::IMAP", "net/imap"),
    ),
)
