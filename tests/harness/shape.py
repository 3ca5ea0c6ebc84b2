# SPDX-License-Identifier: MIT
"""Traces of two runs made comparable: addresses, ports, process numbers and the loader left out."""

import re

from .strace import BEGIN, END

# Calls that a harness program makes for itself, and calls that differ from run to run by chance.
_OWN = ("TCP_INFO",)
# malloc's first use (brk, getrandom) may come earlier when a library was loaded before.
_CHANCE = {"futex", "restart_syscall", "getrandom", "brk"}
_MEMORY = {"mmap", "munmap", "mprotect", "madvise", "brk"}
# Their numbers are sizes, times and limits: 300 or 4096 may be the number of a process, too.
_SIZES = _MEMORY | set("""
    read readv pread64 preadv2 recvfrom recvmsg write writev pwrite64 pwritev2 sendto sendmsg sendmmsg splice
    sendfile fstat newfstatat statx prlimit64 poll ppoll epoll_wait epoll_pwait select pselect6 nanosleep
    clock_nanosleep setsockopt""".split())


def shape(call, pids=()):
    """One call as text, without addresses and numbers that differ from run to run."""
    text = str(call)
    text = re.sub(r"0x[0-9a-f]+", "PTR", text)
    text = text.replace(" ,", ",")  # the seam of a resumed line
    # Eight at the start of a program, from glibc 2.43 on; before, as soon as it allocates.
    text = re.sub(r'getrandom\(".*?", ', "getrandom(RANDOM, ", text)
    text = re.sub(r"parent_tid=\[\d+\]", "parent_tid=[TID]", text)  # 0 if the thread is gone already
    text = re.sub(r"htons\(\d+\)", "htons(PORT)", text)
    for place, pid in enumerate(pids if call.name not in _SIZES else ()):
        text = re.sub(rf"(?<!\d){pid}(?!\d)", f"PID{place}", text)
    return re.sub(r" = -?\d+$", " = N", text) if call.name in _MEMORY | {"getpid", "gettid"} else text


def program_calls(trace, pid=None):
    """The calls of a thread (by default the main one) between the marks BEGIN and END, if it made them."""
    pid = trace.pids[0] if pid is None else pid
    calls = trace.by_pid[pid]
    begin = next((at for at, call in enumerate(calls) if call.mark == BEGIN), -1)
    end = next((at for at, call in enumerate(calls) if call.mark == END), len(calls))
    return [call for call in calls[begin + 1:end]
            if call.mark is None and call.name not in _CHANCE and not any(map(call.has, _OWN))]


def program_shapes(trace):
    """For each thread, in order of appearance, the shapes of its calls between BEGIN and END."""
    return [[shape(call, trace.pids) for call in program_calls(trace, pid)] for pid in trace.pids]


def start_shapes(trace):
    """The shapes of the calls before BEGIN: memory, and the loading of the library, left out."""
    shapes, loading = [], None
    for call in trace.main:
        if call.mark == BEGIN:
            break
        if call.name == "openat" and call.has("libunstall"):
            loading = call.ret
            continue
        if loading is not None and call.fd == loading and call.name in ("read", "pread64", "fstat", "statx",
                                                                        "newfstatat", "close"):
            loading = None if call.name == "close" else loading
            continue
        if call.name not in _MEMORY | {"execve"}:
            shapes.append(shape(call, trace.pids))
    return shapes


def is_promised(line):
    """Whether promise 6 of the design names this added call: a query of a descriptor that was not created
    in the library's sight, or a mapping of its table."""
    query = line.startswith("getsockopt(") and any(option in line for option in
                                                   ("SO_PROTOCOL", "SO_COOKIE", "SO_TYPE"))
    return query or (line.startswith("mmap(NULL") and "MAP_PRIVATE|MAP_ANONYMOUS, -1" in line)


def added(bare, other):
    """The lines of `other` that are not in `bare`, when `bare` with them is `other`; else None."""
    extra, at = [], 0
    for line in other:
        if at < len(bare) and bare[at] == line:
            at += 1
        else:
            extra.append(line)
    return extra if at == len(bare) else None
