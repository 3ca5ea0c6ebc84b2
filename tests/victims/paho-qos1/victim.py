# SPDX-License-Identifier: MIT
"""A subscriber on Eclipse Paho gets two messages of QoS 1 at once: it reads one by exact lengths, confirms
it, and reads the next."""

from runner import Affected, MqttBroker, Victim, talks

VICTIM = Victim(
    sick="client",
    needs=("/usr/bin/python3",),
    packages=("python3-paho-mqtt",),
    measure=talks("/usr/bin/python3", "paho-qos1/client.py", peer=MqttBroker, got=MqttBroker.got,
                  exchanges=MqttBroker.EXCHANGES),
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
