# SPDX-License-Identifier: MIT
"""Thousands of connections opened and closed: memory, descriptors and threads as after the first thousand.

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
