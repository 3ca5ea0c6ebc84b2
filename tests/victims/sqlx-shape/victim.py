# SPDX-License-Identifier: MIT
"""A client in Rust of the shape of sqlx's (sqlx#4335): PREPARE is held behind CLOSE, which the database never
answers."""

import struct

from runner import TalkPeer, Victim, compiled, talks

EXCHANGES = 20
EXECUTE, CLOSE, PREPARE = b"\x17", b"\x19", b"\x16"


class Database(TalkPeer):
    """Numbers the statements, answers EXECUTE with the statement's number, and CLOSE with nothing."""

    def __init__(self):
        super().__init__()
        self.statement = self.closed = 0

    def take(self, pending):
        if len(pending) < 4 or len(pending) < 4 + int.from_bytes(pending[:3], "little"):
            return None
        length = 4 + int.from_bytes(pending[:3], "little")
        kind, rest = pending[4:5], pending[5:length]
        if kind == PREPARE:
            self.statement += 1
            return length, self.packet(b"\0" + struct.pack("<I", self.statement)), True
        assert rest[:4] == struct.pack("<I", self.statement), pending[:length]
        if kind == CLOSE:
            self.closed += 1
            return length, b"", False
        assert kind == EXECUTE, pending[:length]
        return length, self.packet(b"row %d" % self.statement), False

    @staticmethod
    def packet(body):
        return struct.pack("<I", len(body)) + body


def got(peer, said):
    rows = [b"row %d" % number for number in range(1, EXCHANGES + 1)]
    return said.splitlines() == rows and peer.closed == EXCHANGES


VICTIM = Victim(
    sick="client",
    needs=("rustc",),
    measure=talks(lambda: compiled("sqlx-shape/client.rs", "rustc", "--edition=2018", "-O"), peer=Database,
                  got=got, exchanges=EXCHANGES),
    verdict="it sends a small message while the one before is not acknowledged yet, and Nagle holds it",
    pieces=(9, 34),
    segments={"nodelay": 3, "auto": 3},
)
