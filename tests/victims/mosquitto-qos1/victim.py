# SPDX-License-Identifier: MIT
"""mosquitto_sub gets two messages of QoS 1 at once: it reads one by exact lengths, confirms it, and reads the
next (its own cure: --nodelay)."""

import re
import shutil
import subprocess

from runner import Affected, MqttBroker, Victim, run_talk


def measure(treatment, scratch):
    def command(port):
        own = ["--nodelay"] if treatment.own else []
        return ["mosquitto_sub", "-h", "127.0.0.1", "-p", port,
                "-V", "311", "-t", MqttBroker.TOPIC.decode(), "-q", 1,
                "-C", 2 * MqttBroker.EXCHANGES, *own]

    return run_talk(treatment, scratch, command, MqttBroker, MqttBroker.got, MqttBroker.EXCHANGES)


def reads_ahead():
    """From 2.1 on it reads all that is there: its two confirmations are then one message of two writes."""
    if not shutil.which("mosquitto_sub"):
        return False
    said = subprocess.run(["mosquitto_sub", "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(map(int, re.search(r"version (\d+)\.(\d+)", said).groups())) >= (2, 1)


VICTIM = Victim(
    sick="client",
    needs=("mosquitto_sub",),
    measure=measure,
    verdict="it sends each message in two small writes and Nagle holds the second" if reads_ahead() else
            "it sends a small message while the one before is not acknowledged yet, and Nagle holds it",
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
