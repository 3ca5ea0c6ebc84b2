# SPDX-License-Identifier: MIT
"""A program that is well, and how its traces of system calls are compared.

A folder beside this one with a `well.py` that defines WELL. Its drive(command prefix, env, scratch) runs the
program, started as `prefix + its own command`, through the same exchanges each time. The trace of each
process, in the order in which they are made, is made comparable: addresses, times, numbers of processes, the
loader's calls and all that depends on the scheduler are left out.
"""

import importlib.util
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from harness import strace
from harness.shape import added, is_promised

from .observed import observed, statistics
from .treatments import BARE, TREATMENTS
from .victims import HOME, missing, story_of

# In the other modes a turn may cost a push, and a thread is started (docs/design.md, promise 6).
MODES = ("off", "observe", "nodelay", "auto")

# Calls about connections. Everything else (memory, time, locks, signals, files, waits that depend in number
# on the other side's speed) differs between two bare runs already.
_JUDGED = {"socket", "connect", "bind", "listen", "accept", "accept4", "setsockopt", "getsockopt", "shutdown",
           "getsockname", "getpeername", "send", "sendto", "sendmsg", "sendmmsg", "recv", "recvfrom",
           "recvmsg",
           "write", "writev", "read", "readv", "sendfile", "splice", "clone", "clone3", "fork", "vfork",
           "ioctl", "socketpair"}
_MAKING = {"clone", "clone3", "fork", "vfork"}
_ON_DESCRIPTOR = {"read", "readv", "write", "writev", "ioctl", "setsockopt", "getsockopt", "sendfile", "send",
                  "sendto", "sendmsg", "recv", "recvfrom", "recvmsg", "shutdown"}


@dataclass(frozen=True)
class Well:
    """A program in which nothing may change.

    drive   drive(prefix, env, scratch); `prefix` is strace, which writes the trace
    judged  the lines of its processes' traces that may not change
    owner   the user that it becomes where the tests run as root
    says    text that the report must have, beside that it does not stall
    stalls  real ones outside of the judged lines, at most
    also    also(scratch) -> (complaints, a line of facts): further conditions
    """
    needs: tuple
    drive: Callable
    story: str = ""
    packages: tuple = ()
    judged: Callable = staticmethod(lambda traces: traces)
    owner: str = None
    stalls: int = 0
    says: str = ""
    also: Callable = None
    heavy: bool = False
    name: str = ""

    def missing(self):
        return missing((*self.needs, "strace"), self.packages)

    def trace(self, treatment):
        """process -> its comparable calls, in the order in which they are made."""
        with tempfile.TemporaryDirectory(prefix=f"unstall-{self.name}-") as folder:
            log = Path(folder) / "trace"
            settings = _settings(treatment, Path(folder))
            prefix = ["strace", "-f", "-qq", "-yy", "-s", "0", "-o", log, *settings]
            self.drive(prefix, BARE.env(), Path(folder))
            calls, pids = strace.parse(log.read_text("utf-8", "replace"))
        opened = [call for call in calls if call.name == "openat" and call.has("libunstall")]
        assert bool(opened) == bool(treatment.preload) and all(call.ret >= 0 for call in opened), "not loaded"
        return self.judged([[shape(call, pids) for call in calls if call.pid == pid and is_judged(call)]
                            for pid in by_birth(calls, pids)])

    def verdict(self, mode, bare=None):
        """`same`, perhaps with the number of promised calls, or the differences."""
        bare = bare or self.trace(BARE)
        return compare(bare, self.trace(TREATMENTS[mode]))

    def verdicts(self):
        bare = self.trace(BARE)
        return {mode: self.verdict(mode, bare) for mode in MODES}

    def observed(self):
        """The report's result in mode observe; it is not traced then."""
        with tempfile.TemporaryDirectory(prefix=f"unstall-{self.name}-") as folder, \
             statistics(self.owner if os.geteuid() == 0 else None) as directory:
            treatment = TREATMENTS["observe"].adding(UNSTALL_STATS=directory)
            settings = dict(word.split("=", 1) for word in _settings(treatment, Path(folder))[1::2])
            self.drive(["env"], BARE.env(**settings), Path(folder))
            return observed(directory)

    def facts(self):
        """(complaints, a line of facts) of also()."""
        if not self.also:
            return [], ""
        with tempfile.TemporaryDirectory(prefix=f"unstall-{self.name}-") as folder:
            return self.also(Path(folder))


def _settings(treatment, folder):
    """strace's options that load the library into the program; a copy of it, where every user can read it."""
    if not treatment.preload:
        return []
    folder.chmod(0o755)
    library = shutil.copy(treatment.preload, folder)
    variables = {**treatment.variables, "LD_PRELOAD": library}
    return [word for name, value in variables.items() for word in ("-E", f"{name}={value}")]


def by_birth(calls, pids):
    """`pids` by the call of the parent that made each; the scheduler decides the order
    of their first calls."""
    born = {call.ret: at for at, call in enumerate(calls) if call.name in _MAKING}
    return sorted(pids, key=lambda pid: born.get(pid, -1))


def is_judged(call):
    """Whether a call is about a TCP connection, its making, or a new process or thread."""
    if call.name not in _JUDGED or call.errno in ("EAGAIN", "EINTR"):
        return False
    return call.name not in _ON_DESCRIPTOR or bool(re.match(r"\d+<(TCP|socket:)", call.args))


def shape(call, pids):
    """A call without the parts that differ between two runs of the same."""
    text = f"{call.name}({call.args}) = {call.result} {call.errno}".strip()
    text = re.sub(r"<([\w-]+):\[.*?\]>", r"<\1>", text)
    text = re.sub(r"0x[0-9a-f]+", "PTR", text)
    text = re.sub(r"parent_tid=\[\d+\]", "parent_tid=[TID]", text)
    text = re.sub(r"htons\(\d+\)", "htons(PORT)", text)
    text = text.replace(" ,", ",")
    for pid in pids if call.name in _MAKING | {"ioctl"} else ():  # elsewhere it is a size
        text = re.sub(rf"(?<!\d){pid}(?!\d)", "PID", text)
    return text


def compare(bare, treated):
    """The calls that only `treated` has: `same` when promise 6 names all of them."""
    if len(bare) != len(treated):
        return f"{len(treated)} processes and threads, bare {len(bare)}"
    promised = 0
    for one, other in zip(bare, treated):
        extra = added(one, other)
        if extra is None:
            lost = next((line for line, twin in zip(one, other) if line != twin), "its length")
            return f"another trace, at {lost}"
        strange = [line for line in extra if not is_promised(line)]
        if strange:
            return f"an added {strange[0]}"
        promised += len(extra)
    return f"same, and {promised} queries" if promised else "same"


def wells(heavy=False):
    """The names of the programs without a stall; with `heavy`, of the heavy ones too."""
    names = sorted(path.parent.name for path in HOME.glob("*/well.py"))
    return [name for name in names if heavy or not load_well(name).heavy]


def load_well(name):
    spec = importlib.util.spec_from_file_location(f"well_{name}", HOME / name / "well.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return replace(module.WELL, name=name, story=story_of(module))
