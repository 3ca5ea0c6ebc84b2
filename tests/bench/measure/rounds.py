# SPDX-License-Identifier: MIT
"""Paired rounds: in each, every configuration once, in random order, and the ratio of each to the
first one within the round."""

import random
import statistics

STALL_ROUNDS = 2


def spread(values):
    """Median and quartiles."""
    if len(values) == 1:
        return {"median": values[0], "low": values[0], "high": values[0], "count": 1}
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": middle, "low": low, "high": high, "count": len(values)}


def paired(configurations, measure, rounds, say=None, seed=1, also=(), others=(), stalled=STALL_ROUNDS):
    """measure(configuration) -> {"ns": ..., other numbers}.  A row of statistics for each
    configuration; the others are divided by the first one.  `also`: numbers whose ratio is
    taken in the same way, as "<number> ratio".  `others`: configurations by which the time is divided too, as
    "ratio to <configuration>".  `stalled`: the rounds of a configuration that stalls."""
    dice = random.Random(seed)
    taken = {c.name: [] for c in configurations}
    ratios = {c.name: [] for c in configurations}
    reference = configurations[0].name
    beside = {(c.name, other): [] for c in configurations for other in others}
    for number in range(rounds):
        order = [c for c in configurations if not (c.stalls and number >= stalled)]
        dice.shuffle(order)
        this_round = {c.name: measure(c) for c in order}
        for name, result in this_round.items():
            taken[name].append(result)
            ratios[name].append(result["ns"] / this_round[reference]["ns"])
            for other in others:
                beside[name, other].append(result["ns"] / this_round[other]["ns"])
        if say:
            say(number + 1, rounds)
    rows = {}
    for c in configurations:
        rows[c.name] = {"ratio": spread(ratios[c.name])}
        for key in taken[c.name][0]:
            rows[c.name][key] = spread([result[key] for result in taken[c.name]])
        for other in others:
            rows[c.name][f"ratio to {other}"] = spread(beside[c.name, other])
        for key in also:
            rows[c.name][f"{key} ratio"] = spread([mine[key] / its[key] for mine, its in
                                                   zip(taken[c.name], taken[reference])])
    return rows
