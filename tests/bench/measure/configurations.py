# SPDX-License-Identifier: MIT
"""The compared configurations: how the program sends, and the preloaded library."""

from dataclasses import dataclass, replace

from .machine import LIB, PROGRAMS, environment


@dataclass(frozen=True)
class Configuration:
    """`way` is the program's own way to send; `stalls`: each exchange takes 40 ms."""
    name: str
    way: str
    preload: object = None
    mode: str = None
    stalls: bool = False
    variables: tuple = ()  # more of the environment

    def env(self):
        return environment(self.preload, self.mode, **dict(self.variables))


ONE = Configuration("one send", "one")
AGAIN = Configuration("one send, again", "one")  # the difference between two measurements of the same thing
BARE = Configuration("bare", "pieces", stalls=True)

MORE = Configuration("MSG_MORE by hand", "more")  # the least that leaves the first piece in the kernel
BY_HAND = [
    Configuration("TCP_NODELAY", "nodelay"),
    Configuration("corked by hand", "cork"),
    MORE,
]

OTHER_PRELOADS = [
    Configuration("preload: TCP_NODELAY", "pieces", PROGRAMS / "bench-always_nodelay.so"),
    Configuration("preload: cork", "pieces", PROGRAMS / "bench-corks.so"),
]

MODES = ["auto", "coalesce", "cork", "nodelay"]

UNSTALL = [Configuration(f"unstall {mode}", "pieces", LIB, mode) for mode in MODES]
UNSTALL_OFF = Configuration("unstall off", "pieces", LIB, "off", stalls=True)

# A program that writes its messages whole.
WELL_BEHAVED = [Configuration(f"unstall {mode}", "one", LIB, mode) for mode in [*MODES, "observe", "off"]]

STALLING = [ONE, AGAIN, BARE, *BY_HAND, *OTHER_PRELOADS, *UNSTALL, UNSTALL_OFF]
WELL = [ONE, AGAIN, *WELL_BEHAVED]


def with_idle_thread(configuration):
    """The same in a program that has a second thread."""
    preloads = [PROGRAMS / "bench-idle_thread.so", configuration.preload]
    return replace(configuration, preload=":".join(str(path) for path in preloads if path))


HELD = [ONE, AGAIN, MORE, *UNSTALL[:3]]  # by the modes that join pieces
THREADED = [with_idle_thread(c) for c in HELD]
