# SPDX-License-Identifier: MIT
"""The well side of a sick MQTT subscriber: a broker that sends two messages of QoS 1 at once."""

import struct

from .talk_peer import TalkPeer

CONNECT, CONNACK, PUBACK, SUBSCRIBE, SUBACK, DISCONNECT = 0x10, 0x20, 0x40, 0x82, 0x90, 0xe0
PUBLISH_QOS1 = 0x32


def _packet(kind, body):
    return bytes((kind, len(body))) + body


class MqttBroker(TalkPeer):
    """Sends two messages, and two more for each two confirmations; an exchange is such a pair."""

    TOPIC, EXCHANGES = b"house/door", 20

    def __init__(self):
        super().__init__()
        self.sent = self.confirmed = 0

    def two(self):
        """The next two, numbered from 1."""
        if self.sent == 2 * self.EXCHANGES:
            return b""
        self.sent += 2
        topic = struct.pack(">H", len(self.TOPIC)) + self.TOPIC
        return b"".join(_packet(PUBLISH_QOS1, topic + struct.pack(">H", number) + b"text %d" % number)
                        for number in (self.sent - 1, self.sent))

    def take(self, pending):
        if len(pending) < 2 or len(pending) < 2 + pending[1]:
            return None
        kind, body = pending[0], pending[2:2 + pending[1]]
        if kind == CONNECT:
            return 2 + pending[1], _packet(CONNACK, b"\0\0"), False
        if kind == SUBSCRIBE:
            return 2 + pending[1], _packet(SUBACK, body[:2] + b"\1") + self.two(), True
        if kind == DISCONNECT:
            return 2, b"", False
        assert kind == PUBACK, f"no confirmation: {pending!r}"
        self.confirmed += 1
        assert struct.unpack(">H", body) == (self.confirmed,), body
        ends = self.confirmed % 2 == 0
        return 2 + pending[1], self.two() if ends else b"", ends

    def got(self, said):
        """Whether the client has said all that was sent."""
        return said.splitlines() == [b"text %d" % number for number in range(1, 2 * self.EXCHANGES + 1)]
