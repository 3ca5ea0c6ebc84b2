# SPDX-License-Identifier: MIT
"""The queries of docs/fleet.md, as they stand there, against a real Prometheus fed by four processes on
two "hosts"."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

import pytest
from trial import client, server_command, wait_until_it_listens

from harness import COMMAND, LIB, SOURCE_ROOT, bare_env, free_port, patiently, skip

FLEET = (SOURCE_ROOT / "docs/fleet.md").read_text(encoding="utf-8")
HOSTS = ("web1", "web2")


def query_of(title):
    """The query below a heading; `title` is its beginning."""
    section = FLEET[FLEET.index(f"## {title}"):]
    return re.findall(r"```promql\n(.*?)```", section, re.DOTALL)


@contextlib.contextmanager
def started(command, **popen):
    """A process that ends with the context."""
    child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             **popen)
    try:
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def traffic(ports, connections):
    """To all servers."""
    for port in ports:
        subprocess.run(client(port, 6, "one", connections), env=bare_env(), check=True, timeout=60,
                       stdout=subprocess.DEVNULL)


class Prometheus:
    """One that scrapes each second."""

    def __init__(self, port):
        self.port = port

    def ask(self, query):
        """The samples of an instant query: {labels: value}."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(url, timeout=10) as answer:
            value = json.load(answer)
        assert value["status"] == "success"
        return {tuple(sorted(sample["metric"].items())): float(sample["value"][1])
                for sample in value["data"]["result"]}

    def wait_for(self, query, wanted):
        """Until it knows so much; 30 s at most."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                found = self.ask(query)
                if sum(found.values()) >= wanted:
                    return
            time.sleep(0.3)
        raise AssertionError(f"{query} does not reach {wanted}")


@pytest.fixture(name="prometheus", scope="module")
def a_fleet():
    if not shutil.which("prometheus"):
        skip("there is no prometheus")
    with contextlib.ExitStack() as stack:
        room = tempfile.mkdtemp(prefix="unstall-fleet.", dir="/dev/shm")
        stack.callback(shutil.rmtree, room, ignore_errors=True)
        ports, targets = [], []
        for number, host in enumerate(HOSTS):
            folder = f"{room}/{host}"
            os.mkdir(folder, 0o700)
            for process in range(2):
                ports.append(free_port())
                stack.enter_context(started(server_command(ports[-1], 0, 2), env=bare_env(
                    LD_PRELOAD=LIB, UNSTALL_STATS=folder, UNSTALL_ARMS="off:50,auto:50",
                    UNSTALL_SEED=2 * number + process)))
            listen = free_port()
            stack.enter_context(started([COMMAND, "metrics", "--listen", listen, folder], env=bare_env()))
            targets.append(f"      - targets: ['127.0.0.1:{listen}']\n        labels: {{host: {host}}}\n")
        for port in ports:
            wait_until_it_listens(port)
        traffic(ports, 12)  # so that every series is there before the first scrape
        config = f"{room}/prometheus.yml"
        with open(config, "w", encoding="ascii") as file:
            file.write("global: {scrape_interval: 1s}\nscrape_configs:\n"
                       "  - job_name: unstall\n    static_configs:\n" +
                       "".join(targets))
        own = free_port()
        stack.enter_context(started(["prometheus", f"--config.file={config}",
                                     f"--storage.tsdb.path={room}/data",
                                     f"--web.listen-address=127.0.0.1:{own}"], env=bare_env(), cwd=room))
        known = Prometheus(own)
        exchanges = 'sum(unstall_exchange_seconds_count{arm!=""})'
        known.wait_for(exchanges, 1)

        def more():
            served = sum(known.ask(exchanges).values())
            traffic(ports, 16)
            known.wait_for(exchanges, served + 200)

        known.more = more
        more()
        yield known


def by_mode(found):
    """{mode: value}."""
    return {dict(labels)["mode"]: value for labels, value in found.items()}


def test_the_split(prometheus):
    query = query_of("Is the split as requested?")[0]
    prometheus.wait_for(query, 112)  # 28 on each of four servers
    found = by_mode(prometheus.ask(query))
    assert found.keys() == {"off", "auto"}
    assert sum(found.values()) == 112 and min(found.values()) >= 25


def test_the_mean_of_each_arm(prometheus):
    found = by_mode(prometheus.ask(query_of("The mean exchange of each arm")[0]))
    assert found["off"] > 0.025 > 0.015 > found["auto"]


def test_the_quantiles(prometheus):
    def attempt():
        found = by_mode(prometheus.ask(query_of("Its quantiles")[0]))
        if found["auto"] >= 0.035:  # two of 160 exchanges that a busy machine delays are enough
            prometheus.more()
        assert found["off"] > 0.035 > found["auto"]
    patiently(attempt)


@pytest.mark.unstarved  # a late peer acknowledges with its answer: such an exchange does not stall
def test_the_share_of_slow_exchanges(prometheus):
    found = by_mode(prometheus.ask(query_of("The share of exchanges that took 33 ms or more")[0]))
    assert found["off"] > 0.6 and found["auto"] < 0.1


def test_the_ratio_on_each_host_and_of_the_fleet(prometheus):
    each, fleet = query_of("The ratio of the arms on each host")[:2]
    found = {dict(labels)["host"]: value for labels, value in prometheus.ask(each).items()}
    assert found.keys() == set(HOSTS) and max(found.values()) < 0.5
    whole, = prometheus.ask(fleet).values()
    assert min(found.values()) * 0.99 <= whole <= max(found.values()) * 1.01


def test_the_alert_is_quiet_and_can_speak(prometheus):
    query = query_of("An alert: the cure does harm")[0]
    assert prometheus.ask(query) == {}
    swapped = query.replace('"auto"', '"x"').replace('"off"', '"auto"').replace('"x"', '"off"')
    assert len(prometheus.ask(swapped)) == len(HOSTS)


def test_every_query_of_the_page_is_tested():
    experiment = FLEET[:FLEET.index("# All hosts watched")]  # tests/cli/test_metrics_host.py has the rest
    assert len(re.findall("```promql", experiment)) == 7
