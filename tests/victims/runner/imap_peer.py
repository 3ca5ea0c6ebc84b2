# SPDX-License-Identifier: MIT
"""The well side of a sick IMAP client: an exchange is a command with its tag, literals included."""

import re

from .talk_peer import TalkPeer


class ImapPeer(TalkPeer):
    """`commands` has each command's words without the tag; `literals` the appended mails."""

    hello = b"* OK [CAPABILITY IMAP4rev1] ready\r\n"

    def __init__(self):
        super().__init__()
        self.commands = []
        self.literals = []
        self._literal = None  # (tag, length) of an APPEND on its way

    def take(self, pending):
        if self._literal:
            tag, length = self._literal
            if len(pending) < length + 2:
                return None
            assert pending[length:length + 2] == b"\r\n", pending
            self._literal = None
            self.literals.append(pending[:length])
            return length + 2, tag + b" OK done\r\n", True
        line, end, _ = pending.partition(b"\r\n")
        if not end:
            return None
        tag, _, words = line.partition(b" ")
        self.commands.append(words)
        literal = re.search(rb"\{(\d+)\}$", words)
        if literal:
            self._literal = tag, int(literal.group(1))
            return len(line) + 2, b"+ go on\r\n", False
        extra = b"* CAPABILITY IMAP4rev1\r\n" if words.upper() == b"CAPABILITY" else b""
        return len(line) + 2, extra + tag + b" OK done\r\n", True
