# SPDX-License-Identifier: MIT
"""The well side of a sick mail client: an SMTP server to which an exchange is a whole mail."""

from .talk_peer import TalkPeer

_ANSWERS = {b"EHLO": b"250 localhost\r\n", b"HELO": b"250 localhost\r\n", b"MAIL": b"250 sender\r\n",
            b"RCPT": b"250 recipient\r\n", b"RSET": b"250 forgotten\r\n", b"NOOP": b"250 well\r\n",
            b"DATA": b"354 go on\r\n", b"QUIT": b"221 bye\r\n"}
_END = b"\r\n.\r\n"


class SmtpPeer(TalkPeer):
    """`mails` has the bytes between DATA and the final dot."""

    hello = b"220 localhost ESMTP\r\n"

    def __init__(self):
        super().__init__()
        self.mails = []
        self._in_mail = False

    def take(self, pending):
        if self._in_mail:
            mail, end, _ = pending.partition(_END)
            if not end:
                return None
            self._in_mail = False
            self.mails.append(mail)
            return len(mail) + len(end), b"250 mail %d\r\n" % len(self.mails), True
        line, end, _ = pending.partition(b"\r\n")
        if not end:
            return None
        word = line[:4].upper()
        assert word in _ANSWERS, f"no command: {line!r}"
        self._in_mail = word == b"DATA"
        return len(line) + 2, _ANSWERS[word], False
