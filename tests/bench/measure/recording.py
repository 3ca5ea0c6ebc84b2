# SPDX-License-Identifier: MIT
"""Turns the strace log of a real program's connections into a recording for the simulator.

    record.py NAME PROGRAM...     writes recordings/NAME.txt
"""

import re

WRITES = {"write", "send", "sendto", "sendmsg", "writev", "sendmmsg"}
READS = {"read", "recv", "recvfrom", "recvmsg", "readv"}
WAITS = {"poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2",
         "clock_nanosleep", "nanosleep", "wait4"}
TRACED = ",".join(sorted(WRITES | READS | WAITS | {"close"}))

_LINE = re.compile(r"^(?:(\d+)\s+)?(\w+)\((.*)$")
_RESULT = re.compile(r"\)\s*=\s*(-?\d+)")
_TOOK = re.compile(r"<([\d.]+)>$")
AT_ONCE = 300e-6  # seconds, as the library has it
_SOCKET = re.compile(r"^\d+<TCP(?:v6)?:\[(.+?)\]>")


def _joined(lines):
    """strace splits a call that another thread interrupts into two lines."""
    begun = {}
    for line in lines:
        pid = line.split(None, 1)[0]
        if "<unfinished ...>" in line:
            begun[pid] = line.split("<unfinished ...>")[0]
        elif "resumed>" in line and pid in begun:
            yield begun.pop(pid) + line.split("resumed>", 1)[1]
        else:
            yield line


def _asks_only_to_write(name, arguments):
    if name in ("select", "pselect6"):
        return re.match(r"\d+, NULL, \[\d", arguments) is not None
    return name in ("poll", "ppoll") and "events=POLLOUT" in arguments and "POLLIN" not in arguments


def _kind_of_wait(name, arguments):
    """wait, quick (it found its answer waiting), glance (and asked only whether it may write), or
    None for a timeout of zero."""
    if _has_timeout_zero(name, arguments):
        return None
    took = _TOOK.search(arguments)
    if not took or float(took.group(1)) > AT_ONCE:
        return "wait"
    return "glance" if _asks_only_to_write(name, arguments) else "quick"


def _has_timeout_zero(name, arguments):
    return ((name in ("poll", "epoll_wait", "epoll_pwait") and
             re.search(r", 0(, NULL, \d+)?\)\s*=", arguments))
            or re.search(r"\{tv_sec=0, tv_[un]sec=0\}", arguments) is not None)


def events(strace):
    """Lines of a recording from `strace -f -yy -T` output: each connection of each thread on its own,
    in the order of their first writes."""
    streams, current = {}, {}
    for line in _joined(strace.splitlines()):
        match = _LINE.match(line)
        if not match:
            continue
        pid, name, arguments = match.groups()
        result = _RESULT.search(line)
        count = int(result.group(1)) if result else -1
        socket = _SOCKET.match(arguments)
        key = socket and socket.group(1)
        if name in WAITS:
            kind = _kind_of_wait(name, arguments)
            if current.get(pid) and kind:
                _add(streams, current[pid], kind)
        elif name in WRITES and key and count > 0:
            current[pid] = key
            _add(streams, key, f"write {count}")
        elif name in READS and key and count > 0:
            current[pid] = key
            _add(streams, key, f"read {count}")
        elif name in READS and not key and "</" not in arguments and current.get(pid):
            _add(streams, current[pid], "wait")  # something else that may block
    out = []
    for lines in streams.values():
        if any(line.startswith("write") for line in lines):
            out += ["connection", *lines]
    return out


def _add(streams, key, line):
    lines = streams.setdefault(key, [])
    if line in ("wait", "quick", "glance") and (not lines or lines[-1] == line):
        return
    lines.append(line)
