# SPDX-License-Identifier: MIT
"""Each victim loses its stall in every curing mode and keeps it bare, in off and in observe."""

import pytest

from harness import skip
from runner import TREATMENTS, complaints, load, victims


@pytest.mark.parametrize("mode", TREATMENTS)
@pytest.mark.parametrize("name", victims())
def test_victim(name, mode):
    victim, treatment = load(name), TREATMENTS[mode]
    if victim.missing():
        skip(f"{name} needs {', '.join(victim.missing())} (see tests/victims/packages.txt)")
    found = complaints(victim, treatment, victim.run(treatment))
    assert not found, f"{name}, {mode}: {'; '.join(found)}"
