# SPDX-License-Identifier: MIT
"""Net::IMAP, in Ruby's standard library, writes a command word by word; another thread reads the answers."""

from runner import Affected, ImapPeer, Victim, talks


def got(peer, _):
    return [words for words in peer.commands if words.startswith(b"CREATE")] == [
        b"CREATE folder%d" % number for number in range(15)]


VICTIM = Victim(
    sick="client",
    needs=("ruby",),
    measure=talks("ruby", "ruby-net-imap/client.rb", peer=ImapPeer, got=got),
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
