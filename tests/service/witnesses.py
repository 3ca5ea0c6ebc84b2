# SPDX-License-Identifier: MIT
"""What really happened between a client and the servers of a container, by witnesses that know nothing of
unstall: tcpdump's capture, /proc, and what the servers and the client have written down themselves."""

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import wait_for, wait_until
from harness.capture import captured

CLIENT = ("/usr/bin/python3", "-S", "/opt/programs/client.py")
PATIENCE_S = 20
CONNECTED, LISTENS = 1, 10  # states in /proc/net/tcp


@dataclass(frozen=True)
class Process:
    """As /proc of the container has it: the name of its program's file, and its id there."""
    name: str
    pid: int

    def __str__(self):
        return f"{self.name} ({self.pid})"


@dataclass(frozen=True)
class Server:
    """A unit with a server, and how a client asks it: `get` in one piece, `post` in two, so that the client
    stalls."""
    unit: str
    port: int
    start: str           # a line ExecStart=, "" where the distribution has the unit
    log: str             # the server's own
    line: str            # what stands in each of its lines on a request
    ask: str = "get"

    @property
    def endpoint(self):
        """How the command names what the sender's stalls are at, or go to."""
        return f"{'at' if self.ask == 'get' else 'to'} 127.0.0.1:{self.port}"


@dataclass
class Witnessed:
    """What went on between one client and one server."""
    stalls: list = field(default_factory=list)  # ms, of those who wrote in pieces
    backward: int = 0                           # stalls of the other side
    sender: Process = None                      # who wrote in pieces
    receiver: Process = None
    felt: list = field(default_factory=list)    # ms of each exchange, by the client's clock
    logged: int = 0                             # requests that the server has written down
    doubtful: int = 0                           # of the stalls; 0 on a machine with nothing else to do

    @property
    def lost_ms(self):
        return sum(self.stalls)


def waited_ms():
    """For how long something has waited for a processor of this machine so far."""
    place = Path("/proc/pressure/cpu")
    if not place.exists():
        return time.monotonic() * 1000  # as if always
    return int(place.read_text(encoding="ascii").split("total=")[1].split()[0]) / 1000


def sockets(leader):
    """(our port, the peer's, state, inode) of each TCP socket in the network namespace of this process."""
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{leader}/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            words = line.split()
            ours, theirs = (int(words[i].rpartition(":")[2], 16) for i in (1, 2))
            yield ours, theirs, int(words[3], 16), words[9]


def processes(leader):
    """The ids on the host of the processes of this container."""
    ours = os.readlink(f"/proc/{leader}/ns/pid")
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(place / "ns/pid") == ours:
                yield int(place.name)


def process(pid):
    """The process with this id on the host."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    own = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1]
    return Process(Path(os.readlink(f"/proc/{pid}/exe")).name, int(own))


def owner(leader, inode):
    """The process that has this socket, or None."""
    for pid in processes(leader):
        with contextlib.suppress(OSError):
            if any(os.readlink(link) == f"socket:[{inode}]" for link in Path(f"/proc/{pid}/fd").iterdir()):
                return process(pid)
    return None


def both_ends(leader, port):
    """The processes at the server's and at the client's end of a connection to this port, or None."""
    inodes = {ours == port: inode for ours, theirs, state, inode in sockets(leader)
              if state == CONNECTED and port in (ours, theirs) and inode != "0"}
    if len(inodes) < 2:
        return None
    ends = owner(leader, inodes[True]), owner(leader, inodes[False])
    return ends if all(ends) else None


def connections(leader, port):
    """The sockets of connections to this port that a process has."""
    return [inode for ours, theirs, state, inode in sockets(leader)
            if state != LISTENS and port in (ours, theirs) and inode != "0"]


def lines_of(c, server):
    place = c.path(server.log)
    return place.read_text(encoding="utf-8").count(server.line) if place.exists() else 0


def talk(c, count, *servers, client=CLIENT, meanwhile=None, **more):
    """`count` exchanges with each of these servers, at the same time; port -> Witnessed.  `meanwhile` is
    called again and again until they end."""
    seen = {server.port: Witnessed() for server in servers}
    before = {server.port: lines_of(c, server) for server in servers}
    waited = waited_ms()
    within = ["nsenter", "--target", c.leader, "--net"]
    with captured(*seen, within=map(str, within), **more) as capture:
        clients = {server.port: c.popen(*client, server.port, PATIENCE_S, server.ask, count, stdout=-1)
                   for server in servers}
        for server in servers:
            ends = wait_until(lambda server=server: both_ends(c.leader, server.port) or
                              clients[server.port].poll() is not None)
            if isinstance(ends, tuple):  # else it has ended before we looked
                seen[server.port].sender, seen[server.port].receiver = \
                    ends if server.ask == "get" else ends[::-1]
        while meanwhile and any(program.poll() is None for program in clients.values()):
            meanwhile()
            time.sleep(0.3)
        for port, program in clients.items():
            told, _ = program.communicate(timeout=120)
            assert program.returncode == 0, port
            seen[port].felt = [float(line) for line in told.split()]
    for server in servers:
        # A server may learn of its last stall when the connection ends.
        wait_for(lambda server=server: not connections(c.leader, server.port))
        one = seen[server.port]
        # A program that waits for a processor between its two writes has less to wait for afterwards.  The
        # wire shows both waits as one.
        one.doubtful = min(count // 10, int((waited_ms() - waited) / 8))
        ways = [(server.port, 0), (0, server.port)]
        forward, backward = ways if server.ask == "get" else ways[::-1]
        one.stalls = [gap / 1e6 for gap in capture.stalls(sender=forward)]
        one.backward = len(capture.stalls(sender=backward))
        wait_for(lambda server=server: lines_of(c, server) - before[server.port] >= count)
        one.logged = lines_of(c, server) - before[server.port]
        assert len(one.felt) == one.logged == count  # the witnesses agree with one another
    return seen
