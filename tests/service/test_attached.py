# SPDX-License-Identifier: MIT
"""unstall attach --unit on a unit of a real systemd, from the host and from the machine of that systemd.

A server of another unit keeps its stall.  test_service.py has `unstall run` in a unit.
"""

import os
import re
import sys
from pathlib import Path

import pytest
from container import UNSTALL, Container

from harness import COMMAND, bare_env, run, skip

sys.path.insert(0, str(Path(__file__).parents[1] / "attach"))

from attachments import attached  # noqa: E402
from unreached import CURED_MS, TRIES, alone, nothing_pinned  # noqa: E402

WEB = "[Service]\nExecStart=/usr/bin/python3 -S /opt/programs/web.py {port}\n"
STALLS_MS = 20
OURS, OTHER = 8201, 8202
OUR_UNIT = f"ours-{os.getpid()}"  # the only one of this name on the host


@pytest.fixture(name="c", scope="module")
def a_container():
    if not Container.possible():
        skip("systemd-nspawn needs root")
    with Container() as c:
        for name, port in ((OUR_UNIT, OURS), ("other", OTHER)):
            c.unit(f"{name}.service", WEB.format(port=port))
            c.systemctl("start", name)
        # systemd mounts this at the boot of a machine, but not in a container
        c.run("sh", "-c", "mount -o remount,rw /sys && mkdir /sys/fs/bpf && mount -t bpf bpf /sys/fs/bpf")
        yield c


@pytest.fixture(autouse=True)
def nothing_stays(c):
    with alone():
        yield from nothing_pinned()
        assert c.unstall("attach", "--list").stdout == ""


def on_host(_):
    return lambda *words: run([COMMAND, *words], bare_env())


def in_container(c):
    return lambda *words: c.run(UNSTALL, *words)


def is_cured(c, port):
    """A busy machine may keep a cured exchange waiting."""
    return any(c.exchange_ms(port) < CURED_MS for _ in range(TRIES))


def stalls(c, port):
    return any(c.exchange_ms(port) > STALLS_MS for _ in range(TRIES))


@pytest.mark.parametrize("mode", ["proof", "always"])
@pytest.mark.parametrize("where", [on_host, in_container])
def test_a_unit_is_cured_by_its_name_and_put_back(c, where, mode):
    command = where(c)
    assert stalls(c, OURS)
    said = command("attach", "--detach", "--unit", OUR_UNIT, "--mode", mode).stderr
    assert said.startswith(f"unstall attach: unit {OUR_UNIT}.service: TCP_NODELAY ")
    assert is_cured(c, OURS)
    assert stalls(c, OTHER)
    assert re.search(rf"unit {OUR_UNIT}.service, mode {mode}, .* [1-9]\d* cured; detached",
                     command("attach", "--list").stdout)
    command("detach", "--unit", OUR_UNIT)
    assert stalls(c, OURS)


def test_a_unit_that_was_started_again_has_another_cgroup_and_both_are_told_apart(c):
    """The bug: the list did not say that the cgroup was removed, because the new one has the same path."""
    command = on_host(c)
    command("attach", "--detach", "--unit", OUR_UNIT)
    assert is_cured(c, OURS)
    c.systemctl("restart", OUR_UNIT)
    told = command("attach", "--list").stdout
    (name,) = re.findall(r"^(cgroup-\d+) .*; the cgroup was removed$", told, re.M)
    assert stalls(c, OURS)
    command("attach", "--detach", "--unit", OUR_UNIT)
    assert is_cured(c, OURS)
    command("detach", name)
    assert is_cured(c, OURS)
    command("detach", "--unit", OUR_UNIT)
    assert stalls(c, OURS)


def test_the_command_in_the_foreground_ends_with_the_cgroup_of_the_unit(c):
    with attached("--unit", OUR_UNIT) as a:
        assert is_cured(c, OURS)
        c.systemctl("restart", OUR_UNIT)
        assert a.wait() == 0 and f"unit {OUR_UNIT}.service: the cgroup was removed" in a.said
