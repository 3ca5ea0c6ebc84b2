# SPDX-License-Identifier: MIT
"""As mosquitto-qos1, with Eclipse Paho in Python."""

from pathlib import Path

from runner import Affected, Victim, load, measured, talk

HERE = Path(__file__).parent


def measure(treatment, scratch):
    twin = load("mosquitto-qos1").measure.__globals__
    own = ["nodelay"] if treatment.own else []
    count = 2 * twin["EXCHANGES"]
    with twin["Broker"]() as peer:
        said = talk(peer, treatment, scratch,
                    lambda port: ["/usr/bin/python3", HERE / "client.py", port, count, *own])
    assert said.splitlines() == [b"text %d" % number for number in range(1, count + 1)], said
    return measured(peer.times_ms, peer.counts[1:])


VICTIM = Victim(
    story="a subscriber on Eclipse Paho gets two messages of QoS 1 at once: it reads one by exact lengths, "
          "confirms it, and reads the next",
    sick="client",
    needs=("/usr/bin/python3",),
    packages=("python3-paho-mqtt",),
    measure=measure,
    verdict="it sends a small message while the one before is not acknowledged yet, and Nagle holds it",
    pieces=(4, 4),
    segments={"nodelay": 2, "auto": 2},
    affected=Affected(
        software="Paho in Python, subscriptions with QoS 1",
        package="python3-paho-mqtt",
        source="Set TCP_NODELAY on `client.socket()` in `on_connect`.",
        measured=True,
        observe="python3 client.py",
        words=("paho.mqtt",),
    ),
)
