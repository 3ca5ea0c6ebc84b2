# SPDX-License-Identifier: MIT
"""No winner where there is none, the right one where there is: 200 experiments resampled from real
rounds each.

The rounds of data/*.json were recorded by scripts/experiments (record): off against off with three
programs, and with a delay of 5, 20 and 100 % that a preload adds in the arm auto."""

import functools
import math
import random
import statistics
import sys

import pytest
import trial
from trial import DATA, made_up

sys.path.insert(0, str(trial.SOURCE_ROOT / "scripts/lib"))

import experiments  # noqa: E402
from inference import aa  # noqa: E402
from inference.analysis import analyse, log_ratios  # noqa: E402
from inference.verdict import judge  # noqa: E402
from record.results import load  # noqa: E402

pytestmark = pytest.mark.no_library
NOTHING = sorted(path.stem for path in DATA.glob("aa-*.json"))
ROUNDS = {False: experiments.ROUNDS, True: 60}
COUNT = 200


@functools.cache
def outcomes(name, sure):
    """200 experiments: (verdict, does the interval hold the truth, rounds)."""
    recorded = load(DATA / f"{name}.json")
    recorded.experiment["aa"] = False
    truth = 0.0
    if name.startswith("ab"):
        truth = statistics.median(log_ratios(recorded, "auto", "off", "mean")[0])
    dice = random.Random(7)
    return [experiments.outcome(recorded, dice, truth, sure, ROUNDS[sure]) for _ in range(COUNT)]


def winners(name, sure):
    """The winner, each time."""
    return [verdict.winner for verdict, _, _ in outcomes(name, sure) if verdict.kind == "winner"]


def test_the_recordings_are_there():
    assert len(NOTHING) == 3
    assert all((DATA / f"ab-{effect}.json").exists() for effect in experiments.EFFECTS)


@pytest.mark.parametrize("sure", [False, True], ids=["20 rounds", "until sure"])
@pytest.mark.parametrize("name", NOTHING)
def test_off_against_off_names_a_winner_in_at_most_ten_percent(name, sure):
    assert len(winners(name, sure)) <= 0.1 * COUNT


@pytest.mark.parametrize("sure", [False, True], ids=["20 rounds", "until sure"])
@pytest.mark.parametrize("name", [*NOTHING, *(f"ab-{effect}" for effect in experiments.EFFECTS)])
def test_the_interval_holds_the_truth_in_at_least_ninety_percent(name, sure):
    assert sum(right for _, right, _ in outcomes(name, sure)) >= 0.9 * COUNT


@pytest.mark.parametrize("effect", [20, 100])
def test_a_great_effect_is_found(effect):
    """The machine of the recordings was busy: a round's ratio of 1.2 lies between 0.9 and 1.7 in eight
    of ten."""
    assert winners(f"ab-{effect}", False).count("off") >= 0.8 * COUNT
    assert winners(f"ab-{effect}", True).count("off") >= 0.95 * COUNT
    assert winners(f"ab-{effect}", False).count("auto") == 0 == winners(f"ab-{effect}", True).count("auto")


def test_an_effect_of_five_percent_is_found_with_rounds_enough_and_never_reversed():
    """20 rounds on so busy a machine are too few for most experiments, and then they say so."""
    short = outcomes("ab-5", False)
    assert winners("ab-5", False).count("auto") == 0 == winners("ab-5", True).count("auto")
    assert all(verdict.kind == "winner" or verdict.more is None or verdict.more > 0
               for verdict, _, _ in short)
    recorded = load(DATA / "ab-5.json")
    recorded.experiment["aa"] = False
    dice = random.Random(9)
    long = [experiments.outcome(recorded, dice, math.nan, False, 300)[0] for _ in range(40)]
    assert [verdict.winner for verdict in long].count("off") >= 36


def test_until_sure_ends_early_where_the_effect_is_great():
    assert statistics.median(rounds for _, _, rounds in outcomes("ab-100", True)) <= 10


def test_the_check_can_fail():
    """An A/A with an arm that is not the same must be seen: a shuffle of arms within rounds would hide it, so
    the resampling of --aa keeps the chance of the rounds, and the live experiment their bias."""
    biased = made_up(20, effect=1.5, arms=("off", "off-2"))
    assert judge(analyse(biased, describing=False), biased).kind == "winner"
    assert aa.false_winners(biased, 100) <= 20


@pytest.mark.parametrize("heavy", [False, True])
def test_made_up_rounds_with_many_arms_name_few_false_winners(heavy):
    named = 0
    for seed in range(100):
        results = made_up(20, seed=seed, heavy=heavy, arms=("off", "nodelay", "cork", "coalesce", "auto"))
        named += judge(analyse(results, describing=False), results).kind == "winner"
    assert named <= 10
