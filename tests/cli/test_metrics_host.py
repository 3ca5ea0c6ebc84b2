# SPDX-License-Identifier: MIT
"""unstall metrics --host: the findings of scan, for a real Prometheus; its dashboard and its alerts."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
from test_metrics import get, prometheus, samples
from test_scan import CONTAINER, Actor, cgroup_of_a_container, need

from harness import (BUILD_ROOT, COMMAND, SOURCE_ROOT, AnsweringPeer, bare_env, command_of_everybody,
                     need_root, patiently, run, spawned)

DATA = SOURCE_ROOT / "data/prometheus"
FLEET = (SOURCE_ROOT / "docs/fleet.md").read_text(encoding="utf-8")
PAGE = FLEET[FLEET.index("# All hosts watched"):]
GRAFANA = {"@grafana/schema": "13.0.1", "typescript": "5.9.3"}


@contextlib.contextmanager
def watching(*words, command=(COMMAND,), code=0):
    """The exporter; gives (process, URL, its output so far).  It must end by SIGTERM, soon and silently."""
    with spawned([*map(str, command), "metrics", "--host", "--listen", "0", *words], stderr=subprocess.PIPE,
                 cwd="/") as process:
        said = []
        while not said or "http://" not in said[-1]:
            said.append(process.stderr.readline())
            assert said[-1], said
        yield process, re.search(r"http://\S+", said[-1]).group(), "".join(said[:-1])
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=20)
        assert (process.returncode, rest) == (code, "")


def wait_for(look, seconds=30):
    """Until it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if found := look():
                return found
        time.sleep(0.2)
    raise AssertionError("nothing came")


def stalls_of(url, family="unstall_host_stalls_total"):
    """{labels: value} of this family."""
    found = samples(get(url)[1])
    return {name[len(family):]: value for name, value in found.items() if name.startswith(family + "{")}


def of_program(found, program):
    """The sum of its series of this program."""
    return sum(value for labels, value in found.items() if f'program="{program}' in labels)


@pytest.fixture(name="talker", scope="module")
def a_program_that_stalls(tmp_path_factory):
    """Its name is its own, so that other tests of this host are not counted."""
    program = tmp_path_factory.mktemp("talker") / f"talker-{os.getpid()}"
    source = SOURCE_ROOT / "tests/cli/programs/two_authors.c"
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return program


# A few stalls stand for many in the source sampled, and its interval is not told here.
@pytest.mark.parametrize("source, least, most", [("exact", 0.8, 1), ("sampled", 0.2, 4)])
def test_it_counts_what_stalls_and_the_counters_only_grow(talker, source, least, most):
    need(source)
    exchanges, seconds = 2 * 70, "unstall_host_stall_seconds_total"
    fallen = []

    def attempt():
        with AnsweringPeer() as peer, watching("--source", source) as (_, url, _):
            talkers = [subprocess.Popen([talker, *peer.target, "70"], env=bare_env()) for _ in range(2)]
            quiet = Actor("single", 1)
            before = {}
            while any(one.poll() is None for one in talkers):
                now = {name: value for name, value in samples(get(url)[1]).items() if "_total" in name}
                fallen.extend(name for name, value in before.items() if now.get(name, 0) < value)
                before = now
                time.sleep(0.5)
            quiet.exchanges()
            wait_for(lambda: of_program(stalls_of(url), talker.name) >= least * exchanges)
            time.sleep(1.2)  # stalls that end later than the last slice
            stalls, lost = (of_program(stalls_of(url, *family), talker.name) for family in ((), (seconds,)))
            assert all(f'source="{source}"' in labels for labels in stalls_of(url))
            own = samples(get(url)[1])["unstall_host_own_cpu_seconds_total"]
        assert least * exchanges <= stalls <= most * exchanges
        assert 0.025 < lost / stalls < 0.2
        assert 0 < own < 2

    patiently(attempt, 3)  # on a busy machine not all exchanges stall
    assert not fallen


group = cgroup_of_a_container


def test_its_labels_have_the_unit_or_the_container(group):
    service = group.parent / f"unstall-{os.getpid()}.service"
    service.mkdir()
    try:
        with watching() as (_, url, _):
            for folder, labels in ((group, f'unit="",container="{CONTAINER[:12]}"'),
                                   (service, f'unit="{service.name}",container=""')):
                actor = Actor("stall", 1.5, waits=True)  # the exporter looks for its cgroup once
                (folder / "cgroup.procs").write_text(f"{actor.pid}\n", encoding="ascii")
                actor.begin()
                actor.exchanges()
                begin = f'{{{labels},program="python3'
                wait_for(lambda begin=begin: [name for name, n in stalls_of(url).items()
                                              if name.startswith(begin) and n > 5])
    finally:
        service.rmdir()


def test_it_says_what_it_may_not_see():
    need_root("may become another user")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with (command_of_everybody() as command,
          watching(command=[*nobody, command]) as (_, url, said)):
        actor = Actor("stall", 3)
        actor.exchanges()
        stalls = wait_for(lambda: {labels: value for labels, value in stalls_of(url).items() if value > 5})
        info = [name for name in samples(get(url)[1]) if name.startswith("unstall_host_info")]
    assert re.search(r"^unstall metrics: source sampled: numbers are estimates; not exact: "
                     r"(it needs CAP_BPF and CAP_PERFMON|this build)", said)
    assert "of processes of other users it sees the user, not the program\n" in said
    assert '{unit="",container="",program="",user="0",source="sampled"}' in stalls
    assert re.search(r'not_exact="(it needs CAP_BPF|this build).*processes="own"', info[0])


# ---- Prometheus, its alerts and the dashboard -----------------------------------


class Fleet:
    """One host, looked at by both sources, in a real Prometheus."""

    def __init__(self, api):
        self.api = api

    def ask(self, query):
        """The series of an instant query."""
        words = urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(f"{self.api}/api/v1/query?{words}", timeout=20) as answer:
            value = json.load(answer)
        assert value["status"] == "success"
        return value["data"]["result"]


@pytest.fixture(name="fleet", scope="module")
def a_host_in_prometheus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prometheus")
    with contextlib.ExitStack() as stack:
        _, url, _ = stack.enter_context(watching())
        stack.enter_context(Actor("stall"))
        wait_for(lambda: of_program(stalls_of(url), "python3"))
        fleet = Fleet(stack.enter_context(prometheus(folder, url)))
        wait_for(lambda: fleet.ask("rate(unstall_host_stalls_total[30s]) > 0"))
        yield fleet


def test_a_real_prometheus_scrapes_it(fleet):
    metadata = json.loads(get(f"{fleet.api}/api/v1/metadata?metric=unstall_host_stall_seconds")[1])["data"]
    assert metadata["unstall_host_stall_seconds"][0]["type"] == "counter"
    up, = fleet.ask("unstall_host_up")
    assert up["value"][1] == "1"


def test_every_query_of_the_page_gives_something(fleet):
    queries = re.findall(r"```promql\n(.*?)```", PAGE, re.DOTALL)
    assert len(queries) >= 4
    for query in queries:
        assert fleet.ask(query.replace("[5m]", "[30s]").replace("[1d]", "[30s]")), query


def panels():
    """The panels of the dashboard."""
    return json.loads((DATA / "unstall-host.json").read_text(encoding="utf-8"))["panels"]


def test_every_panel_of_the_dashboard_shows_something(fleet):
    variables = {"$__rate_interval": "30s", "$__range": "30s", "$job": ".+", "$instance": ".+"}
    for panel in panels():
        query = panel["targets"][0]["expr"]
        for name, value in variables.items():
            query = query.replace(name, value)
        assert fleet.ask(query), panel["title"]


def test_promtool_knows_the_metrics_and_the_alerts(tmp_path):
    with watching() as (_, url, _):
        text = get(url)[1]
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True,
                          check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    shutil.copy(DATA / "unstall-host.rules.yml", tmp_path)
    shutil.copy(SOURCE_ROOT / "tests/cli/host.rules.test.yml", tmp_path)
    done = run(["promtool", "test", "rules", "host.rules.test.yml"], bare_env(), check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


# The enums of the schema are written as their values in JSON.
TYPES = """
import type { Dashboard } from '@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import * as timeseries from '@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';
import * as stat from '@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';
import * as table from '@grafana/schema/dist/types/raw/composable/table/panelcfg/x/types.gen';
type Written<T> = T extends string ? `${T}` : T extends (infer U)[] ? Written<U>[]
  : T extends object ? { [K in keyof T]: Written<T[K]> } : T;
"""


def complaints_about(**dashboards):
    """TypeScript's errors for each, by the types that Grafana publishes."""
    home = BUILD_ROOT / "grafana"
    if not (home / "node_modules/typescript/bin/tsc").exists():
        home.mkdir(exist_ok=True)
        (home / "package.json").write_text(json.dumps({"private": True, "dependencies": GRAFANA}))
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"],
                       cwd=home, check=True, timeout=300)
    for name, dashboard in dashboards.items():
        parts = [TYPES, f"export const whole: Written<Dashboard> = {json.dumps(dashboard)};\n"]
        for panel in dashboard["panels"]:
            kind, options = panel["type"], json.dumps(panel["options"])
            parts.append(f"export const panel{panel['id']}: Written<Partial<{kind}.Options>> = {options};\n")
        (home / f"{name}.ts").write_text("".join(parts), encoding="utf-8")
    done = run(["node", "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck",
                "--moduleResolution", "node", "--target", "es2020", *(f"{name}.ts" for name in dashboards)],
               bare_env(), check=False, cwd=home, timeout=120)
    return {name: [line for line in done.stdout.splitlines() if line.startswith(f"{name}.ts")]
            for name in dashboards}


def test_the_types_that_grafana_publishes_accept_the_dashboard():
    text = (DATA / "unstall-host.json").read_text(encoding="utf-8")
    broken = json.loads(text)
    broken["panels"][4]["gridpos"] = broken["panels"][4].pop("gridPos")
    broken["panels"][5]["options"]["legend"]["placement"] = "somewhere"
    said = complaints_about(good=json.loads(text), broken=broken)
    assert said["good"] == []
    assert any("gridpos" in line for line in said["broken"])
    assert any("somewhere" in line for line in said["broken"])
