# SPDX-License-Identifier: MIT
"""dnsmasq gets two questions at once over TCP: it reads a length and a question, answers, and reads the next;
a child that it forks has the connection."""

import struct

from runner import Affected, Victim, run_asked

NAMES = ("door", "window")
COMMAND = ("--keep-in-foreground --conf-file=/dev/null --pid-file= --no-resolv --no-hosts --bind-interfaces "
           "--listen-address=127.0.0.1 --user=root --address=/house.test/10.0.0.7").split()


def labels(name):
    return b"".join(bytes((len(part),)) + part.encode() for part in (name, "house", "test")) + b"\0"


def requests(number):
    """Two questions for the address of a name."""
    asked = b""
    for which, name in enumerate(NAMES):
        question = struct.pack(">HHHHHH", 2 * number + which, 0x0100, 1, 0, 0, 0) + labels(name) + \
            struct.pack(">HH", 1, 1)
        asked += struct.pack(">H", len(question)) + question
    return asked


def right(number, so_far):
    """Each answer has a length of two bytes before it, and the address at its end."""
    answers = []
    while len(so_far) >= 2 and len(so_far) >= 2 + (length := struct.unpack(">H", so_far[:2])[0]):
        answers.append(so_far[2:2 + length])
        so_far = so_far[2 + length:]
    for which, answer in enumerate(answers):
        assert struct.unpack(">H", answer[:2])[0] == 2 * number + which, answer
        assert labels(NAMES[which]) in answer and answer.endswith(bytes((10, 0, 0, 7))), answer
    return len(answers) == 2 and not so_far


def measure(treatment, scratch):
    return run_asked(treatment, scratch, lambda port: ["dnsmasq", *COMMAND, f"--port={port}"],
                     requests, right, pid=lambda server: server.processes()[1])


VICTIM = Victim(
    sick="server",
    needs=("dnsmasq",),
    measure=measure,
    verdict="it sends a small answer while the one before is not acknowledged yet, and Nagle holds it",
    pieces=(51, 53),
    segments={"nodelay": 2, "auto": 2},
    affected=Affected(
        software="dnsmasq, pipelined questions over TCP",
        package="dnsmasq-base",
        source="Set TCP_NODELAY on the accepted connection in tcp_request().",
        observe="dnsmasq --keep-in-foreground",
        programs=("dnsmasq",),
    ),
)
