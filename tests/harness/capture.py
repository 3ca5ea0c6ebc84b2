# SPDX-License-Identifier: MIT
"""The packets on loopback, by tcpdump, and the stalls in its capture."""

import contextlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .library import need_root

_ETHERNET, _HEADER, _RECORD = 14, 24, 16


@dataclass
class Packet:
    """One TCP segment over IPv4: when it was seen (ns), from and to which port, its payload's length."""
    when: int
    source: int
    target: int
    payload: int


@dataclass
class Capture:
    """The packets of a capture, once it has ended."""
    packets: list

    def stalls(self, least_ms=20, sender=None):
        """The gaps (ns) in which one side's next data waited for the other's bare acknowledgement.  `sender`:
        (its port, the other's), 0 for any."""
        found, last = [], {}
        for packet in self.packets:
            way, back = (packet.source, packet.target), (packet.target, packet.source)
            if packet.payload == 0:
                if back in last:
                    last[back] = (last[back][0], packet.when)
                continue
            data, acknowledged = last.get(way, (None, None))
            if data and acknowledged and packet.when - data >= least_ms * 1e6 \
                    and acknowledged > data and packet.when - acknowledged < 5e6:
                if not sender or all(p in (0, q) for p, q in zip(sender, way)):
                    found.append(packet.when - data)
            last[way] = (packet.when, None)
            last.pop(back, None)  # the other side's next data begins a message of its own
        return found


def _packets(data):
    magic, = struct.unpack("=I", data[:4])
    assert magic in (0xA1B2C3D4, 0xA1B23C4D), hex(magic)
    unit = 1 if magic == 0xA1B23C4D else 1000
    at = _HEADER
    while at + _RECORD <= len(data):
        seconds, part, length, _ = struct.unpack("=IIII", data[at:at + _RECORD])
        frame = data[at + _RECORD:at + _RECORD + length]
        at += _RECORD + length
        packet = frame[_ETHERNET:]
        if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != 6:
            continue
        header, total = (packet[0] & 15) * 4, struct.unpack(">H", packet[2:4])[0]
        source, target = struct.unpack(">HH", packet[header:header + 4])
        payload = total - header - (packet[header + 12] >> 4) * 4
        yield Packet(seconds * 10**9 + part * unit, source, target, payload)


def read_packets(path):
    """The packets of a file that tcpdump has written."""
    return list(_packets(Path(path).read_bytes()))


def _told(tcpdump):
    """The packets that it has written and those that have passed the filter, as it tells on SIGUSR1."""
    tcpdump.send_signal(signal.SIGUSR1)
    while line := tcpdump.stderr.readline():
        if found := re.search(r"(\d+) packets? captured, (\d+) packets? received by filter", line):
            return map(int, found.groups())
    return 0, 0  # it has ended


def begin_capture(tcpdump):
    """Waits until it listens; for end_capture() the packets that came before its filter did, and so count as
    passed.  None: it may not listen."""
    while line := tcpdump.stderr.readline():
        if "listening on" in line:
            written, passed = _told(tcpdump)
            return passed - 2 * written
    return None


def end_capture(tcpdump, before):
    """Ends tcpdump behind the packets that the kernel has kept for it; by SIGINT alone it leaves them there.

    On loopback twice as many pass the filter as it writes.
    """
    for _ in range(1000):
        written, passed = _told(tcpdump)
        if 2 * written >= passed - before:
            break
        time.sleep(0.01)
    tcpdump.send_signal(signal.SIGINT)
    tcpdump.communicate(timeout=60)


@contextlib.contextmanager
def captured(*ports, within=(), copy=None):
    """Capture loopback's traffic of `ports`; gives a Capture that is filled when the context ends.  `within`:
    words that run a command in another network namespace; `copy`: where the file is kept."""
    need_root("may capture packets")
    capture = Capture([])
    with tempfile.NamedTemporaryFile(prefix="unstall-capture-") as file:
        with subprocess.Popen(
                [*within, "tcpdump", "-i", "lo", "-Z", "root", "-B", "4096", "-s", "128", "--immediate-mode",
                 "-U", "-w", file.name, "tcp and (" + " or ".join(f"port {port}" for port in ports) + ")"],
                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as tcpdump:
            before = begin_capture(tcpdump)
            assert before is not None, "tcpdump has ended"
            try:
                yield capture
            finally:
                end_capture(tcpdump, before)
        capture.packets = read_packets(file.name)
        if copy:
            shutil.copy(file.name, copy)
