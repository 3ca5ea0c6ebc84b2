# SPDX-License-Identifier: MIT
"""--aa: off against off.  Does this set-up, with this program and this machine, name winners where
there can be none?

The live experiment is one answer.  The others are resampled from its rounds: of each, one of the two
runs is called the first at random, and rounds are drawn again; so many experiments as one likes,
each of which must not name a winner more often than the confidence allows.
"""

import copy
import random

from analysis import analyse
from verdict import WINNER, judge

EXPERIMENTS = 200
SHARE = 0.10  # of them may name a winner at 95 %: 5 % are to be expected, 10 % are not by chance


def resample(results, dice):
    """One experiment out of the rounds of another: drawn with replacement, arms exchanged at random."""
    made = copy.copy(results)
    made.units = []
    rounds = list(results.rounds().items())
    first, second = results.arms
    for block in range(len(rounds)):
        (stratum, _), units = dice.choice(rounds)
        pair = [units[first], units[second]]
        dice.shuffle(pair)
        for arm, unit in zip((first, second), pair):
            taken = copy.copy(unit)
            taken.arm, taken.block, taken.stratum = arm, block, stratum
            made.units.append(taken)
    return made


def false_winners(results, experiments=EXPERIMENTS, seed=0):
    """How many of so many resampled experiments name a winner."""
    dice = random.Random(seed)
    named = 0
    for _ in range(experiments):
        drawn = resample(results, dice)
        named += judge(analyse(drawn, describing=False), drawn).kind == WINNER
    return named


def check(results, analysis, verdict, options):
    """Says in the verdict what came out; the exit code, or 0."""
    from __main__ import NOT_TRUSTED
    named = verdict.kind == WINNER
    verdict.sentences.insert(0, "A/A: both arms are off, so that no winner is right.")
    verdict.deploy = None
    if not results.paired:
        return NOT_TRUSTED if named else 0
    false = false_winners(results, seed=options.seed)
    share = false / EXPERIMENTS
    allowed = SHARE + 1 - results.experiment["confidence"] - 0.05
    verdict.sentences.append(f"Of {EXPERIMENTS} experiments drawn from these rounds {false} name a "
                             f"winner ({share * 100:g} %; at most {allowed * 100:g} % may).")
    if named or share > allowed:
        verdict.sentences.append("A winner named here is not to be trusted: more rounds, or a "
                                 "quieter machine.")
        return NOT_TRUSTED
    verdict.sentences.append("Winners named here can be trusted.")
    return 0
