# SPDX-License-Identifier: MIT
"""The library's cost where there is nothing to cure: calls, start, memory, its thread."""

import glob
import re
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager

from . import configurations as conf
from . import real
from .exchanges import HOST
from .machine import LIB, environment, found, pinned, program, run_json, running
from .rounds import paired, spread


def calls(rounds):
    """Nanoseconds added to a call, from the least of many runs, by turns."""
    with pinned():
        bare = [run_json([program("micro")])]
        added = []
        for _ in range(rounds):
            loaded = run_json([program("micro")], environment(LIB))
            bare.append(run_json([program("micro")]))
            added.append({name: loaded[name] - min(bare[-1][name], bare[-2][name]) for name in loaded})
    return {name: {"bare": min(b[name] for b in bare), "added": spread([a[name] for a in added])}
            for name in added[0]}


def start(rounds, count):
    """Microseconds added to the start of `true`."""
    with pinned():
        taken = [run_json([program("micro"), "start", str(count), str(LIB)]) for _ in range(rounds)]
    return {"bare": spread([t["bare"] for t in taken]),
            "added": spread([t["loaded"] - t["bare"] for t in taken])}


SHORT = ["0", "1", "3"]  # no warm-up, three exchanges


def short_lived(rounds, count):
    """Wall time of a whole program that makes one connection and three exchanges: one send bare, against
    two writes under us.  Our own client is the smallest there is; wget is a real one."""
    def wall(argv, env):
        times = []
        for _ in range(count):
            began = time.monotonic_ns()
            subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            times.append(time.monotonic_ns() - began)
        return {"ns": statistics.median(times)}

    results = {}
    with pinned(), running([program("peer")]) as peer:
        argv = [program("client"), HOST, peer.said, "two"]
        results["C client"] = paired(
            [conf.ONE, conf.AGAIN, conf.BY_HAND[0], *conf.UNSTALL[:2]],
            lambda c: wall([*argv, c.way, *SHORT], c.env()), rounds)
    if found("wget"):
        return results
    with pinned(), tempfile.TemporaryDirectory() as folder:
        port = real.free_port()
        with real.serving(real.python(folder)(port), port, conf.OTHER_PRELOADS[0].env()):
            url = f"http://{HOST}:{port}/"
            results["wget, three GET"] = paired(
                [conf.Configuration("bare", ""), conf.Configuration("bare, again", ""),
                 *(conf.Configuration(f"unstall {m}", "", LIB, m) for m in ("auto", "coalesce"))],
                lambda c: wall(["wget", "-q", "-O", "/dev/null", url, url, url], c.env()), rounds)
    return results


def rollup(pid):
    """Kilobytes by name from smaps_rollup."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return {name: int(kb) for name, kb in re.findall(r"^(\w+):\s+(\d+) kB", file.read(), re.M)}


def library_pages(pid):
    """KiB that the mappings of the library's file have resident."""
    with open(f"/proc/{pid}/smaps", encoding="ascii") as file:
        blocks = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", file.read())
    return sum(int(re.search(r"^Rss:\s+(\d+)", block, re.M).group(1))
               for block in blocks if "libunstall.so" in block.split("\n", 1)[0])


def process_memory():
    """KiB: the resident part of the library's file (all but the data is shared by every process under it),
    and the private memory of the process beyond bare."""
    def measured(env):
        with running([program("idle")], env, stdin=subprocess.PIPE) as idle:
            return rollup(idle.pid)["Anonymous"], library_pages(idle.pid)
    bare, loaded = measured(environment()), measured(environment(LIB))
    return {"library": loaded[1], "own": loaded[0] - bare[0]}


@contextmanager
def endless_load(server, connections):
    load = subprocess.Popen([program("load"), HOST, server.said, str(connections), "0", "1", "1000000000"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield load
    finally:
        load.kill()
        load.wait()


def anonymous_after(env, way, connections, seconds):
    """KiB of its own that a server has with so many living connections that were used; they are made in
    `seconds`, and one more for each 5 000."""
    with running([program("server"), "epoll", way], env) as server:
        with endless_load(server, connections):
            time.sleep(seconds + connections / 5000)
            return rollup(server.pid)["Anonymous"]


def connection_memory(mode, many, seconds, few=1000):
    """Bytes that a connection costs, from the difference of two numbers of them."""
    def slope(env, way):
        more, less = (anonymous_after(env, way, count, seconds) for count in (many, few))
        return (more - less) * 1024 / (many - few)
    return slope(environment(LIB, mode), "pieces") - slope(environment(), "nodelay")


def window_thread(pid):
    """The folder of the thread of the library, or None."""
    for comm in glob.glob(f"/proc/{pid}/task/*/comm"):
        with open(comm, encoding="ascii") as file:
            if file.read().strip() == "unstall":
                return comm.rsplit("/", 1)[0]
    return None


def ran_ns(task):
    with open(f"{task}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def thread_under_load(mode, connections, seconds, idle_after):
    """The share of a core that the window's thread takes while the server turns over bursts at full speed,
    and whether it has ended `idle_after` seconds after the last of them. The server has a single thread of
    its own: it gets the thread as one with more would."""
    with pinned(), running([program("server"), "epoll", "pieces"],
                           environment(LIB, mode, UNSTALL_THREAD="always")) as server:
        with endless_load(server, connections) as load:
            time.sleep(1)
            task = window_thread(server.pid)
            assert task, f"no thread of the library in {mode}"
            began, before = time.monotonic(), ran_ns(task)
            time.sleep(seconds)
            share = (ran_ns(task) - before) / 1e9 / (time.monotonic() - began)
            load.send_signal(19)  # SIGSTOP: the connections stay, nothing moves
            time.sleep(idle_after)
            return {"share": share, "ended when idle": window_thread(server.pid) is None}
