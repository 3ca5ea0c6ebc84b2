# SPDX-License-Identifier: MIT
"""rlpr writes a file, and by another write the zero byte that ends it (RFC 1179); then it waits for a
byte."""

import subprocess

from runner import Affected, TalkPeer, Victim, measured

FILES = 10
TEXT = b"hello printer\n"


class Spooler(TalkPeer):
    """RFC 1179: a line or a file with its zero byte is answered by a zero byte; an exchange is a file."""

    def __init__(self):
        super().__init__()
        self.files = []
        self._length = None  # of the file on its way

    def take(self, pending):
        if self._length is not None:
            if len(pending) <= self._length:
                return None
            assert pending[self._length] == 0, pending
            self.files.append(pending[:self._length])
            self._length, length = None, self._length + 1
            return length, b"\0", True
        line, end, _ = pending.partition(b"\n")
        if not end:
            return None
        words = line[1:].split()
        if len(words) == 2:  # the length and name of a file
            self._length = int(words[0])
        return len(line) + 1, b"\0", False


def measure(treatment, scratch):
    text = scratch / "text"
    text.write_bytes(TEXT)
    with Spooler() as peer:
        client = subprocess.Popen(["rlpr", "--no-bind", "--printhost=127.0.0.1", f"--port={peer.port}",
                                   "--printer=lp", "--quiet", *[text] * FILES], env=treatment.env(),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        peer.meet(lambda: treatment.assert_in(client.pid))
        try:
            said, _ = client.communicate(timeout=30)
        finally:
            client.kill()
            client.wait()
    assert client.returncode == 0, said
    assert peer.files.count(TEXT) == FILES and len(peer.files) == 2 * FILES, peer.files
    return measured(peer.times_ms, peer.counts[1:])


VICTIM = Victim(
    sick="client",
    needs=("rlpr",),
    measure=measure,
    segments={"nodelay": 7, "cork": 2, "coalesce": 2, "auto": 2},
    affected=Affected(
        software="rlpr, and each client of LPD (RFC 1179)",
        package="rlpr",
        source="Send the file and its zero byte in one write.",
        observe="rlpr ...",
        programs=("rlpr",),
    ),
)
