# SPDX-License-Identifier: MIT
"""--aa: off against off.  Does this program on this machine yield a winner where there is none?

The rounds that were run are one experiment.  Others are resampled from them: rounds are drawn with
replacement, and in each the two runs are exchanged at random.  At most the share of them that the
confidence allows may name a winner.
"""

import copy
import random

from inference.analysis import analyse
from inference.verdict import WINNER, judge

EXPERIMENTS = 200
# This share may name a winner at 95 %: 5 % are expected, and chance exceeds 10 % of 200 once in 800 times.
SHARE = 0.10


def resample(results, rng):
    """One experiment from the rounds of another: drawn with replacement, arms exchanged at random."""
    made = copy.copy(results)
    made.units = []
    rounds = list(results.rounds().items())
    first, second = results.arms
    for block in range(len(rounds)):
        (stratum, _), units = rng.choice(rounds)
        pair = [units[first], units[second]]
        rng.shuffle(pair)
        for arm, unit in zip((first, second), pair):
            taken = copy.copy(unit)
            taken.arm, taken.block, taken.stratum = arm, block, stratum
            made.units.append(taken)
    return made


def false_winners(results, experiments=EXPERIMENTS, seed=0):
    """The number of resampled experiments that name a winner."""
    rng = random.Random(seed)
    named = 0
    for _ in range(experiments):
        drawn = resample(results, rng)
        named += judge(analyse(drawn, describing=False), drawn).kind == WINNER
    return named


def check(results, verdict, seed):
    """Add the outcome to the verdict's sentences; True where winners can be trusted."""
    named = verdict.kind == WINNER
    verdict.sentences.insert(0, "A/A: both arms are off, so a winner would be wrong.")
    verdict.deploy = None
    if not results.paired:
        return not named
    false = false_winners(results, seed=seed)
    share = false / EXPERIMENTS
    allowed = SHARE + 1 - results.experiment["confidence"] - 0.05
    verdict.sentences.append(f"Of {EXPERIMENTS} experiments drawn from these rounds {false} name a "
                             f"winner ({share * 100:g} %; at most {allowed * 100:g} % may).")
    if named or share > allowed:
        verdict.sentences.append("A winner named here cannot be trusted: run more rounds, or use "
                                 "a quieter machine.")
        return False
    verdict.sentences.append("Winners named here can be trusted.")
    return True
