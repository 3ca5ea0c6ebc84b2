# SPDX-License-Identifier: MIT
"""mosquitto writes SUBACK and each retained message by separate writes (its own cure: set_tcp_nodelay
true)."""

import struct

from runner import Affected, Daemon, Driver, Victim, measured

EXCHANGES = 15
TOPIC, MESSAGE = b"house/door", b"closed"


def text(words):
    return struct.pack(">H", len(words)) + words


def packet(kind, body):
    return bytes((kind, len(body))) + body


CONNECT = packet(0x10, text(b"MQTT") + bytes((4, 2, 0, 60)) + text(b"driver"))
PUBLISH_RETAINED = packet(0x31, text(TOPIC) + MESSAGE)
PUBLISHED = packet(0x31, text(TOPIC) + MESSAGE)


def measure(treatment, scratch):
    conf = scratch / "mosquitto.conf"

    def command(port):
        own = "set_tcp_nodelay true\n" if treatment.own else ""
        conf.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n{own}", "utf-8")
        return ["mosquitto", "-c", conf]

    with Daemon(command, treatment.env(), scratch, "mosquitto") as server, Driver(server.port) as driver:
        driver.exchange(CONNECT, lambda so_far: len(so_far) >= 4)
        driver.send(PUBLISH_RETAINED)
        for number in range(1, EXCHANGES):
            ask = packet(0x82, struct.pack(">H", number) + text(TOPIC) + b"\0")
            answer = driver.exchange(ask, lambda so_far: so_far.endswith(PUBLISHED))
            assert answer == b"\x90\x03" + struct.pack(">H", number) + b"\0" + PUBLISHED, answer
        treatment.assert_in(server.pid)
    return measured(driver.times_ms, driver.counts)


VICTIM = Victim(
    sick="server",
    needs=("mosquitto",),
    measure=measure,
    affected=Affected(
        software="Mosquitto, retained messages",
        package="mosquitto",
        own="`set_tcp_nodelay true` in mosquitto.conf",
        source="Join SUBACK and the retained messages in one write.",
        measured=True,
        observe="mosquitto -c mosquitto.conf",
        programs=("mosquitto",),
    ),
)
