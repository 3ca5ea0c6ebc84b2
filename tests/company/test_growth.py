# SPDX-License-Identifier: MIT
"""Thousands of connections opened and closed: memory, descriptors and threads as after the first thousand.
Thousands at once: a fork's child and a message with a descriptor cost no more for those that they do not use.

UNSTALL_TESTS_CONNECTIONS=100000 for the long run.
"""

import json
import os

import pytest

from clients import binary
from harness import MODES, mode_env, run

COUNT = int(os.environ.get("UNSTALL_TESTS_CONNECTIONS", "20000"))
SLACK = 100  # kilobytes: 20 000 connections of 6 bytes would be more


@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_no_growth(mode):
    facts = json.loads(run([binary("churn"), COUNT], mode_env(mode), timeout=300).stdout)
    assert facts["loaded"] is (mode != "bare")
    for who in ("client", "server"):
        first, last = facts[who]["kilobytes"]
        assert last - first <= SLACK, who
        assert len(set(facts[who]["descriptors"])) == 1, who
        assert len(set(facts[who]["threads"])) == 1, who


@pytest.mark.parametrize("mode", ["bare", *MODES])
def test_a_crowd_costs_only_where_it_is_used(mode, tmp_path):
    """A child repaired each at its end: 19 000 sockets cost it 8 ms and 5 MB, with statistics 25 ms and
    18 MB.  Each descriptor that arrived in a message was looked for among all."""
    done = run([binary("crowd"), 4000], mode_env(mode, UNSTALL_STATS=tmp_path), timeout=300)
    facts = json.loads(done.stdout)
    assert facts["loaded"] is (mode != "bare")
    few, many = facts["pages"]
    assert many - few <= 100
    few, many = facts["passage"]
    assert many <= 4 * (few + 1)
