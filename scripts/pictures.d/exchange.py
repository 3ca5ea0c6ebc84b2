# SPDX-License-Identifier: MIT
"""One exchange of a run, from its log of strace and its log of tcpdump.

The two logs have the same clock.  strace shows the bytes that the program gives to the kernel, tcpdump the
bytes that the kernel sends.  The difference is held.
"""

import dataclasses
import re

CALL = re.compile(r"(\d+\.\d+) (send|sendto|sendmsg|recvfrom|setsockopt)\((\d+), (.*)\) = (\d+) <([\d.]+)>$")
SEGMENT = re.compile(r"(\d+\.\d+) IP6? \S+\.(\d+) > \S+\.(\d+): Flags \[([^\]]*)\].* length (\d+)")


@dataclasses.dataclass
class Step:
    """An event: a call of the sender, or a segment."""
    at: float          # seconds
    kind: str          # send, wait, option; data, ack, answer
    size: int = 0      # bytes
    more: bool = False  # MSG_MORE
    ends: float = 0    # of a wait


@dataclasses.dataclass
class Hold:
    """Bytes that the kernel has and does not send, from one step to another."""
    first: int
    last: int
    size: int
    by_nagle: bool


def calls(text):
    """The sender's calls on its connection."""
    found = []
    for line in text.splitlines():
        match = CALL.search(line)
        if not match:
            continue
        at, name, _, arguments, result, took = match.groups()
        if name == "recvfrom":
            found.append(Step(float(at), "wait", int(result), ends=float(at) + float(took)))
        elif name != "setsockopt":
            found.append(Step(float(at), "send", int(result), "MSG_MORE" in arguments))
        elif "TCP_NODELAY, [1]" in arguments:
            found.append(Step(float(at), "option"))
    return found


def segments(text, port):
    """The segments of the connection to `port` that carry data, and the peer's bare acknowledgements."""
    found = []
    for match in filter(None, map(SEGMENT.match, text.splitlines())):
        at, source, _, flags, size = match.groups()
        sent = int(source) != port
        if int(size):
            found.append(Step(float(at), "data" if sent else "answer", int(size)))
        elif not sent and flags == ".":
            found.append(Step(float(at), "ack"))
    return found


def exchanges(made, seen):
    """The exchanges of a run: from the first call after an answer to the next answer."""
    found, own = [], []
    for call in made:
        own.append(call)
        if call.kind == "wait":
            own_segments = [step for step in seen if own[0].at <= step.at <= call.ends]
            found.append(sorted(own + own_segments, key=lambda step: step.at))
            own = []
    return found


def lasted(exchange):
    """Seconds from the first call to the answer."""
    return next(step.at for step in exchange if step.kind == "answer") - exchange[0].at


def typical(found):
    """The exchange with the median time, of the later half."""
    later = sorted(found[len(found) // 2:], key=lasted)
    return later[len(later) // 2]


def holds(exchange):
    """The bytes that were held.  A write is held if anything happens before the segment that takes it."""
    found, given, sent = [], 0, []
    for index, step in enumerate(exchange):
        if step.kind == "data":
            sent.append((index, sum(exchange[at].size for at, _ in sent) + step.size))
    for index, step in enumerate(exchange):
        if step.kind != "send":
            continue
        given += step.size
        leaves = next(at for at, total in sent if total >= given)
        if leaves == index + 1:
            continue
        if found and found[-1].last == leaves:
            found[-1].size += step.size
        else:
            found.append(Hold(index, leaves, step.size, not step.more))
    return found
