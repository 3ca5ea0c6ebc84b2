# SPDX-License-Identifier: MIT
"""An MQTT subscriber with QoS 1: two messages that arrive at once are read and confirmed one by one."""

import struct

from runner import Affected, TalkPeer, Victim, measured, talk

EXCHANGES = 20
TOPIC = b"house/door"
CONNECT, CONNACK, PUBACK, SUBSCRIBE, SUBACK, DISCONNECT = 0x10, 0x20, 0x40, 0x82, 0x90, 0xe0
PUBLISH_QOS1 = 0x32


def packet(kind, body):
    return bytes((kind, len(body))) + body


class Broker(TalkPeer):
    """Sends two messages, and two more for each two confirmations; an exchange is such a pair."""

    def __init__(self):
        super().__init__()
        self.sent = self.confirmed = 0

    def two(self):
        """The next two, numbered from 1."""
        if self.sent == 2 * EXCHANGES:
            return b""
        self.sent += 2
        return b"".join(packet(PUBLISH_QOS1, struct.pack(">H", len(TOPIC)) + TOPIC + struct.pack(">H", number)
                               + b"text %d" % number) for number in (self.sent - 1, self.sent))

    def take(self, pending):
        if len(pending) < 2 or len(pending) < 2 + pending[1]:
            return None
        kind, body = pending[0], pending[2:2 + pending[1]]
        if kind == CONNECT:
            return 2 + pending[1], packet(CONNACK, b"\0\0"), False
        if kind == SUBSCRIBE:
            return 2 + pending[1], packet(SUBACK, body[:2] + b"\1") + self.two(), True
        if kind == DISCONNECT:
            return 2, b"", False
        assert kind == PUBACK, f"no confirmation: {pending!r}"
        self.confirmed += 1
        assert struct.unpack(">H", body) == (self.confirmed,), body
        ends = self.confirmed % 2 == 0
        return 2 + pending[1], self.two() if ends else b"", ends


def measure(treatment, scratch):
    def command(port):
        own = ["--nodelay"] if treatment.own else []
        return ["mosquitto_sub", "-h", "127.0.0.1", "-p", port, "-V", "311", "-t", TOPIC.decode(), "-q", 1,
                "-C", 2 * EXCHANGES, *own]

    with Broker() as peer:
        said = talk(peer, treatment, scratch, command)
    assert said.splitlines() == [b"text %d" % number for number in range(1, 2 * EXCHANGES + 1)], said
    return measured(peer.times_ms, peer.counts[1:])


VICTIM = Victim(
    story="mosquitto_sub gets two messages of QoS 1 at once: it reads one by exact lengths, confirms it, and "
          "reads the next (its own cure: --nodelay)",
    sick="client",
    needs=("mosquitto_sub",),
    measure=measure,
    verdict="it sends a small message while the one before is not acknowledged yet, and Nagle holds it",
    pieces=(4, 4),
    segments={"nodelay": 2, "auto": 2},
    affected=Affected(
        software="mosquitto_sub, subscriptions with QoS 1",
        package="mosquitto-clients",
        own="`--nodelay`",
        source="`mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1)` in a program on libmosquitto.",
        measured=True,
        observe="mosquitto_sub -t TOPIC -q 1",
        programs=("mosquitto_sub",),
        libraries=("libmosquitto.so",),
    ),
)
