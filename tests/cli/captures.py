# SPDX-License-Identifier: MIT
"""Captures made by hand: packets from Python's struct, with the times that a test wants."""

import ipaddress
import struct
import zlib

FIN, SYN, RST, PUSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
ETHERNET, NULL, RAW, LOOP, SLL, SLL2 = 1, 0, 101, 108, 113, 276
MS = 0.001


def tcp(sport, dport, seq, ack, flags, payload, *, window=500, options=b""):
    """A TCP segment; payload is a number of bytes."""
    options += b"\0" * (-len(options) % 4)
    offset = (20 + len(options)) // 4
    return struct.pack("!HHIIBBHHH", sport, dport, seq % 2**32, ack % 2**32, offset << 4, flags,
                       window, 0, 0) + options + b"x" * payload


def ip4(source, destination, inner, *, ident=0, fragment=0, length=None, protocol=6):
    """The segment in an IPv4 packet."""
    total = 20 + len(inner) if length is None else length
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, total, ident, fragment, 64, protocol, 0,
                       ipaddress.ip_address(source).packed,
                       ipaddress.ip_address(destination).packed) + inner


def ip6(source, destination, inner, *, extensions=0, protocol=6, atomic=False, **_):
    """The segment in an IPv6 packet, behind so many headers of destination options; or whole, behind the
    header of a fragment."""
    headers = b""
    for left in range(extensions, 0, -1):
        headers += struct.pack("!BB6x", 60 if left > 1 else protocol, 0)
    if atomic:
        headers, extensions = struct.pack("!BBHI", protocol, 0, 0, 7), 1
    first = protocol if not extensions else 44 if atomic else 60
    return struct.pack("!IHBB16s16s", 6 << 28, len(headers) + len(inner), first, 64,
                       ipaddress.ip_address(source).packed,
                       ipaddress.ip_address(destination).packed) + headers + inner


def udp(sport, dport, inner):
    """A datagram."""
    return struct.pack("!HHHH", sport, dport, 8 + len(inner), 0) + inner


def ethernet_type(packet):
    """That of an IP packet."""
    return 0x86dd if packet[0] >> 4 == 6 else 0x0800


def ethernet_frame(packet):
    """The IP packet in a frame."""
    return bytes(12) + struct.pack("!H", ethernet_type(packet)) + packet


def gre(packet, *, key=False, teb=False):
    """In GRE, also with a key, a number and a checksum, or with a whole frame in it."""
    inner = ethernet_frame(packet) if teb else packet
    return struct.pack("!HH", 0xb000 if key else 0, 0x6558 if teb else ethernet_type(packet)) + \
        bytes(12 if key else 0) + inner


def vxlan(packet, port=4789):
    """In VXLAN, with its datagram."""
    return udp(50123, port, struct.pack("!II", 8 << 24, 42 << 8) + ethernet_frame(packet))


# tunnel -> the protocol in the outer IP header, and the packet as it is carried
TUNNELS = {
    "vxlan": lambda packet: (17, vxlan(packet)),
    "vxlan of Linux": lambda packet: (17, vxlan(packet, 8472)),
    "gre": lambda packet: (47, gre(packet)),
    "gre with a key": lambda packet: (47, gre(packet, key=True)),
    "gretap": lambda packet: (47, gre(packet, teb=True)),
    "ip in ip": lambda packet: (41 if packet[0] >> 4 == 6 else 4, packet),
    "gre in ip in ip": lambda packet: (4, ip4("10.9.0.1", "10.9.0.2", gre(packet), protocol=47)),
}


def tunnelled(tunnel, packet, outer=4):
    """The packet through a tunnel between two hosts, over IPv4 or IPv6."""
    protocol, inner = TUNNELS[tunnel](packet)
    if outer == 6:
        return ip6("2001:db8:f::1", "2001:db8:f::2", inner, protocol=protocol)
    return ip4("198.51.100.1", "198.51.100.2", inner, protocol=protocol, ident=99)


def framed(link, packet):
    """The IP packet as it lies on a link."""
    kind = ethernet_type(packet)
    ethernet = bytes(12) + struct.pack("!H", kind)
    return {
        "ethernet": ethernet + packet,
        "padded": (ethernet + packet).ljust(60, b"\0"),
        "vlan": bytes(12) + struct.pack("!HHH", 0x8100, 7, kind) + packet,
        "double vlan": bytes(12) + struct.pack("!HHHHH", 0x88a8, 7, 0x8100, 8, kind) + packet,
        "mpls": bytes(12) + struct.pack("!HI", 0x8847, 1 << 8 | 64) + packet,
        "pppoe": bytes(12) + struct.pack("!HHHHH", 0x8864, 0x1100, 1, len(packet) + 2 & 0xffff,
                                         0x57 if kind == 0x86dd else 0x21) + packet,
        "snap": bytes(12) + struct.pack("!HBBB3xH", 8 + len(packet) & 0xffff, 0xaa, 0xaa, 3, kind) + packet,
        "cooked snap": bytes(14) + struct.pack("!HBBB3xH", 4, 0xaa, 0xaa, 3, kind) + packet,
        "cooked": bytes(14) + struct.pack("!H", kind) + packet,
        "cooked 2": struct.pack("!H", kind) + bytes(18) + packet,
        "null": struct.pack("<I", 30 if kind == 0x86dd else 2) + packet,
        "loop": struct.pack("!I", 30 if kind == 0x86dd else 2) + packet,
        "raw": packet,
    }[link]


LINK_TYPES = {"ethernet": ETHERNET, "padded": ETHERNET, "vlan": ETHERNET, "double vlan": ETHERNET,
              "mpls": ETHERNET, "pppoe": ETHERNET, "snap": ETHERNET, "cooked snap": SLL, "cooked": SLL,
              "cooked 2": SLL2, "null": NULL, "loop": LOOP, "raw": RAW}


class Capture:
    """Packets in their order."""

    def __init__(self, link="ethernet", through=lambda packet: packet):
        self.link, self.through = link, through
        self.packets = []  # (time, bytes, length on the wire)

    def add(self, time, packet, *, times=1, apart=0.00002):
        """An IP packet, seen so many times."""
        frame = framed(self.link, self.through(packet))
        for copy in range(times):
            self.packets.append((time + copy * apart, frame, len(frame)))

    def ordered(self):
        return sorted(self.packets, key=lambda packet: packet[0])

    def pcap(self, *, order="<", nano=False, snap=262144, packets=None):
        """The bytes of a capture file; `packets`: in this order."""
        unit = 10**9 if nano else 10**6
        data = [struct.pack(order + "IHHiIII", 0xa1b23c4d if nano else 0xa1b2c3d4, 2, 4, 0, 0, snap,
                            LINK_TYPES[self.link])]
        for time, frame, length in self.ordered() if packets is None else packets:
            ticks = round(time * unit)
            kept = frame[:snap]
            data.append(struct.pack(order + "IIII", ticks // unit, ticks % unit, len(kept), length) + kept)
        return b"".join(data)

    def pcapng(self):
        """The same as pcapng, with microseconds."""
        def block(kind, body):
            body += b"\0" * (-len(body) % 4)
            return struct.pack("<II", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))
        data = [block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1)),
                block(1, struct.pack("<HHI", LINK_TYPES[self.link], 0, 0))]
        for time, frame, length in self.ordered():
            ticks = round(time * 10**6)
            data.append(block(6, struct.pack("<IIIII", 0, ticks >> 32, ticks % 2**32, len(frame),
                                             length) + frame))
        return b"".join(data)


class Dialog:
    """A connection between a client and a server in a capture: keeps the sequence numbers.

    Its handshake is captured `at` a time, or not at all.
    """

    def __init__(self, capture=None, *, at=0, client="192.0.2.1", server="192.0.2.2", ports=(40000, 80),
                 mss=1460, start=None, copies=1, extensions=0, scale=7, atomic=False):
        self.capture, self.mss, self.copies, self.scale = capture or Capture(), mss, copies, scale
        self.address = {"c": client, "s": server}
        self.port = dict(zip("cs", ports))
        first = zlib.crc32(repr((client, server, ports)).encode())  # as random as those of a kernel
        self.next = dict(zip("cs", start or (first, first ^ 0x5a5a5a5a)))
        self.window = {"c": 500, "s": 500}
        self.seen = dict(self.next)  # acknowledged to the sender by the other end
        self.more = {"extensions": extensions, "atomic": atomic}
        self.ident = 0
        if at is not None:
            self.handshake(at)

    def packet(self, time, side, flags, payload=0, *, seq=None, options=b"", fragment=0, length=None,
               ident=None):
        """Any segment of one side; it acknowledges up to `seen`."""
        other = "s" if side == "c" else "c"
        segment = tcp(self.port[side], self.port[other], self.next[side] if seq is None else seq,
                      self.seen[other], flags, payload, window=self.window[side], options=options)
        self.ident += 1
        build = ip6 if ":" in self.address[side] else ip4
        self.capture.add(time, build(self.address[side], self.address[other], segment,
                                     ident=self.ident if ident is None else ident, fragment=fragment,
                                     length=length, **self.more if build is ip6 else {}), times=self.copies)

    def options(self):
        return struct.pack("!BBH", 2, 4, self.mss) + struct.pack("!BBBB", 3, 3, self.scale, 1)

    def handshake(self, time, trip=0.0001):
        """Seen from the client: the answer takes a round trip."""
        self.packet(time, "c", SYN, options=self.options())
        self.next["c"] += 1
        self.seen["c"] = self.next["c"]
        self.packet(time + trip, "s", SYN | ACK, options=self.options())
        self.next["s"] += 1
        self.seen["s"] = self.next["s"]
        self.packet(time + trip + 0.00001, "c", ACK)

    def data(self, time, side, size, **more):
        """New data; acknowledges all that the other side has sent."""
        other = "s" if side == "c" else "c"
        self.seen[other] = self.next[other]
        self.packet(time, side, PUSH | ACK, size, **more)
        self.next[side] += size

    def ack(self, time, side):
        """A bare acknowledgement of all that the other side has sent."""
        other = "s" if side == "c" else "c"
        self.seen[other] = self.next[other]
        self.packet(time, side, ACK)

    def stall(self, time, *, side="c", sizes=(200, 100), late=43 * MS, gap=50e-6, answer=1 * MS):
        """Two pieces with a delayed acknowledgement in between, and the answer; gives the time of its end."""
        other = "s" if side == "c" else "c"
        self.data(time, side, sizes[0])
        self.ack(time + late, other)
        self.data(time + late + gap, side, sizes[1])
        if answer is None:
            self.ack(time + late + gap + late, other)
            return time + late + gap + late
        self.data(time + late + gap + answer, other, 250)
        return time + late + gap + answer

    def stalls(self, count=5, *, first=0.1, apart=0.1, **how):
        """So many; gives the dialog."""
        for i in range(count):
            self.stall(first + i * apart, **how)
        return self

    def exchange(self, time, sizes, *, side="c", apart=50e-6, answer=1 * MS):
        """Pieces that are not held, and the answer."""
        for i, size in enumerate(sizes):
            self.data(time + i * apart, side, size)
        self.data(time + (len(sizes) - 1) * apart + answer, "s" if side == "c" else "c", 250)

    def whole(self, time, *, side="c", size=300, answer=1 * MS):
        """One piece and the answer."""
        self.data(time, side, size)
        self.data(time + answer, "s" if side == "c" else "c", 250)
        return time + answer
