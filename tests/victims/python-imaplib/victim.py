# SPDX-License-Identifier: MIT
"""Python's imaplib: APPEND sends the literal, then a line's end by a send of its own."""

from pathlib import Path

from runner import Affected, ImapPeer, Victim, run_mailer

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    peer = ImapPeer()
    result = run_mailer(treatment, scratch, lambda port: [
        "/usr/bin/python3", HERE / "client.py", port, EXCHANGES, *treatment.words], peer, EXCHANGES)
    assert peer.literals == [b"Subject: %d\r\n\r\nDear b\r\n" % number for number in range(EXCHANGES)]
    return result


VICTIM = Victim(
    story="imaplib's append sends a mail, and then the end of the line by another send (Lib/imaplib.py, "
          "_command)",
    sick="client",
    needs=("/usr/bin/python3",),
    measure=measure,
    verdict="it sends each message in two small writes and Nagle holds the second",
    segments={"nodelay": 3, "cork": 2, "coalesce": 2, "auto": 2},
    affected=Affected(
        software="CPython, imaplib, append",
        package="python3.11",
        source="`M.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)`",
        measured=True,
        observe="python3 client.py",
        words=("imaplib",),
    ),
)
