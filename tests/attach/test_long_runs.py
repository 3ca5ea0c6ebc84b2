# SPDX-License-Identifier: MIT
"""A short selection of the long runs of CONTRIBUTING.md: scripts/attach-stress and scripts/attach-cost."""

import re

import pytest

from harness import COMMAND, SOURCE_ROOT, bare_env, cgroup_mount, run


@pytest.fixture(autouse=True)
def no_cgroup_stays():
    yield
    assert not list(cgroup_mount().glob("unstall-stress-*")) + list(cgroup_mount().glob("unstall-cost-*"))


def script(name, seconds):
    return run([SOURCE_ROOT / "scripts" / name, str(seconds)], bare_env(UNSTALL_COMMAND=COMMAND), check=False,
               timeout=120)


def test_no_byte_is_lost_beside_connections_that_come_and_go():
    done = script("attach-stress", 4)
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.fullmatch(r"4 s: (\d+) connections, (\d+) exchanges, attached (\d+) times, "
                        r"(\d+) connections cured\n", done.stdout)
    connections, exchanges, attached, cured = map(int, told.groups())
    assert exchanges > connections > 10 and attached >= 3 and cured > 10  # each way once


def test_the_cost_of_each_program_in_each_mode():
    with open("/proc/sys/kernel/bpf_stats_enabled", encoding="ascii") as setting:
        was = setting.read()
        done = script("attach-cost", 0.4)
        setting.seek(0)
        assert setting.read() == was
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    runs = {tuple(row[:3]): (int(row[3]), int(row[4])) for row in rows if len(row) == 5}
    made = {tuple(row[:2]): int(row[3]) for row in rows if row[2] == "exchanges"}
    for mode in ("always", "proof"):
        assert made[mode, "stall"] > 40  # 9, with stalls
        assert all(0 < ns < 1e5 for _, ns in (runs[mode, kind, "on_event"] for kind in ("stall", "single")))
    assert runs["always", "single", "on_event"][0] < runs["proof", "single", "on_event"][0]
