# SPDX-License-Identifier: MIT
"""imaplib's append sends a mail, and then the end of the line by another send (Lib/imaplib.py, _command)."""

from runner import Affected, ImapPeer, Victim, talks


def got(peer, _):
    return peer.literals == [b"Subject: %d\r\n\r\nDear b\r\n" % number for number in range(15)]


VICTIM = Victim(
    sick="client",
    needs=("/usr/bin/python3",),
    measure=talks("/usr/bin/python3", "python-imaplib/client.py", peer=ImapPeer, got=got),
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
