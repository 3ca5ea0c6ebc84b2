# SPDX-License-Identifier: MIT
"""client.py PORT MAILS [nodelay]: appends mails to a mailbox over one connection."""

import imaplib
import socket
import sys

port, mails = map(int, sys.argv[1:3])
session = imaplib.IMAP4("127.0.0.1", port)
if "nodelay" in sys.argv:
    session.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
session.login("me", "secret")
for number in range(mails):
    status, said = session.append("Sent", "", None, b"Subject: %d\r\n\r\nDear b\r\n" % number)
    assert status == "OK", said
session.logout()
