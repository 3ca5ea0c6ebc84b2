# SPDX-License-Identifier: MIT
"""Runs a program under `strace -f` and gives its system calls as a list.

Programs put marks into their trace with mark(n) of programs/client.h: a raw getsid() of a
process that cannot exist, which no library sees.
"""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field

# As in programs/client.h.
MARK_BASE = 1000000000
BEGIN, END, PAUSE = 4096, 4097, 4098

_LINE = re.compile(r"^(\d+)\s+(.*)$")
_CALL = re.compile(r"^(\w+)\((.*)$", re.S)
_RESULT = re.compile(r"\)\s+= (\?|-?\d+|0x[0-9a-f]+)(?: (E[A-Z0-9]+))?.*$", re.S)
# The calls of a 32-bit program that do what a 64-bit one does by another name.
_OF_32_BITS = {
    "mmap2": "mmap", "_llseek": "lseek", "send": "sendto", "recv": "recvfrom",
    **{f"{name}64": name for name in ("clock_gettime", "fcntl", "fstat", "fstatat", "fstatfs", "ftruncate",
                                      "lstat", "sendfile", "stat", "statfs")},
}
_RESUMED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)$", re.S)


@dataclass
class Call:
    """One system call.  Its place in the list is where it was entered."""
    pid: int
    name: str
    args: str = ""
    result: str = "?"
    errno: str = ""

    @property
    def fd(self):
        """The first argument as a number, None if it is none."""
        number = re.match(r"-?\d+", self.args)
        return int(number.group()) if number else None

    @property
    def ret(self):
        """The call's result, None if it never returned."""
        return None if self.result == "?" else int(self.result, 0)

    @property
    def mark(self):
        """The number of a mark(), None for any other call."""
        if self.name != "getsid" or self.fd is None or self.fd < MARK_BASE:
            return None
        return self.fd - MARK_BASE

    def has(self, text):
        return text in self.args

    def is_push(self):
        return self.name == "setsockopt" and self.has("TCP_NODELAY, [1]")

    def __str__(self):
        tail = f" {self.errno}" if self.errno else ""
        return f"{self.name}({self.args}) = {self.result}{tail}"


@dataclass
class Trace:
    """All calls of a run, in the order in which they were entered."""
    calls: list
    returncode: int = 0
    stdout: str = ""
    stderr: str = ""
    pids: list = field(default_factory=list)

    @property
    def by_pid(self):
        """pid (thread) -> its calls."""
        return {pid: [call for call in self.calls if call.pid == pid] for pid in self.pids}

    @property
    def main(self):
        """The calls of the first thread of the first process."""
        return [call for call in self.calls if call.pid == self.pids[0]]

    def between(self, first, last, calls=None):
        """The main thread's calls (or `calls`) from mark `first` to mark `last`, without marks."""
        inside, found = [], False
        for call in self.main if calls is None else calls:
            if call.mark == last and found:
                return inside
            if found and call.mark is None:
                inside.append(call)
            found = found or call.mark == first
        raise AssertionError(f"no marks {first} to {last} in the trace")

    def after(self, number, calls=None):
        """The calls from mark `number` to the next mark of the same thread (or to the end)."""
        calls = self.main if calls is None else calls
        begin = next((at for at, call in enumerate(calls) if call.mark == number), None)
        if begin is None:
            raise AssertionError(f"no mark {number} in the trace")
        rest = calls[begin + 1:]
        end = next((at for at, call in enumerate(rest) if call.mark is not None), len(rest))
        return rest[:end]

    @property
    def loaded(self):
        """Whether the program opened the library."""
        return any(call.name in ("open", "openat") and call.has("libunstall") and call.ret is not None
                   and call.ret >= 0 for call in self.calls)


def parse(text):
    """strace -f output -> (calls, pids in order of appearance)."""
    calls, pids, open_calls = [], [], {}
    for line in text.splitlines():
        matched = _LINE.match(line)
        if not matched:
            continue
        pid, rest = int(matched.group(1)), matched.group(2)
        if pid not in pids:
            pids.append(pid)
        resumed = _RESUMED.match(rest)
        if resumed:
            call = open_calls.pop(pid, None)
            if call is None:
                continue
            _finish(call, call.args + resumed.group(2).lstrip())
            continue
        begun = _CALL.match(rest)
        if not begun:
            continue  # signals and exits
        name = begun.group(1).removesuffix("_time64")
        call = Call(pid, _OF_32_BITS.get(name, name))
        calls.append(call)
        if rest.endswith("<unfinished ...>"):
            call.args = begun.group(2)[:-len("<unfinished ...>")].rstrip() + " "
            open_calls[pid] = call
        else:
            _finish(call, begun.group(2))
    return calls, pids


def _finish(call, text):
    result = None
    for result in re.finditer(r"\)\s+= ", text):
        pass
    matched = _RESULT.match(text, result.start()) if result else None
    if not matched:
        call.args = text
        return
    call.args = text[:matched.start()].strip()
    call.result = matched.group(1)
    call.errno = matched.group(2) or ""


def run_strace(argv, env, *, timeout=60, check=True, follow=True, text_limit=32, **popen):
    """Run `argv` with `env` under strace (which itself runs bare) and return its Trace."""
    popen.setdefault("stdin", subprocess.DEVNULL)
    settings = []
    for name in sorted(set(env) | set(os.environ)):
        if env.get(name) != os.environ.get(name):
            settings += ["-E", f"{name}={env[name]}" if name in env else name]
    with tempfile.NamedTemporaryFile(prefix="unstall-strace-", mode="r", encoding="utf-8",
                                     errors="replace") as log:
        command = ["strace", *(["-f"] if follow else []), "-s", str(text_limit), "-o", log.name,
                   *settings, "--", *[str(word) for word in argv]]
        done = subprocess.run(command, timeout=timeout, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)
        text = log.read()
    if not follow:
        text = "".join(f"1 {line}\n" for line in text.splitlines())
    if check and done.returncode != 0:
        raise AssertionError(f"{argv} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    calls, pids = parse(text)
    return Trace(calls, done.returncode, done.stdout, done.stderr, pids)
