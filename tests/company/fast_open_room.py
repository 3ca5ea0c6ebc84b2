# SPDX-License-Identifier: MIT
"""Runs a client of TCP Fast Open and its server in a network namespace that allows it (`unshare --net`).

    fast_open_room.py PROGRAM HOW MODE          prints {"received": bytes, "facts": the client's output}
"""

import json
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import AnsweringPeer, mode_env, run  # noqa: E402  pylint: disable=wrong-import-position

EXCHANGES = 12
CLIENT, SERVER, WITHOUT_COOKIE = 1, 2, 0x204


class FastPeer(AnsweringPeer):
    """An AnsweringPeer that takes data with the SYN."""

    def __init__(self):
        super().__init__()
        self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)


def main(program, how, mode):
    """Set the room up, run, tell."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    allowed = CLIENT | SERVER | WITHOUT_COOKIE
    Path("/proc/sys/net/ipv4/tcp_fastopen").write_text(str(allowed), encoding="ascii")
    with FastPeer() as peer:
        done = run([program, *peer.target, EXCHANGES, "0", how], mode_env(mode), timeout=20)
    print(json.dumps({"received": bytes(peer.connections[0].received).decode("ascii"),
                      "facts": json.loads(done.stdout)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
