# SPDX-License-Identifier: MIT
"""Writers that end at random moments: every promised byte has arrived (docs/design.md, promise 4).

`kill` is SIGKILL, `pending` SIGKILL while input lies unread (the close resets the connection), `exit`
the end of the process by its main thread while another thread writes, `exec` another program in its place.
"""

import pytest

from killing import RULES, end_writers

ROUNDS = {"kill": 70, "pending": 40, "exit": 40, "exec": 40}
SEED = 1


@pytest.mark.parametrize("how", ROUNDS)
@pytest.mark.parametrize("mode", RULES)
def test_nothing_is_lost_that_must_arrive(mode, how):
    found = end_writers(mode, how, ROUNDS[how], SEED)
    print(found)
    assert found["broken"] == 0, found["first"]
    assert found["rounds"] == ROUNDS[how]


@pytest.mark.parametrize(("how", "rule"), [("kill", "returned"), ("pending", "sent")])
def test_a_loss_is_seen(how, rule):
    """Coalesce may lose buffered bytes: by the rule of the other modes that is a failure."""
    found = end_writers("coalesce", how, ROUNDS[how], SEED, rule=rule)
    assert found["lossy"] > 0 and found["broken"] > 0
