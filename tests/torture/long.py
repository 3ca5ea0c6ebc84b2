# SPDX-License-Identifier: MIT
"""The long runs; scripts/torture builds and starts them."""

import argparse
import sys
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from program import ALL_MODES, run_program
from killing import RULES, end_writers

KILLS_AT_ONCE = 250
REPLAYS = 5  # of a program in which bytes were late, and nothing else was wrong


def outcomes_of(modes, seed, each, jobs):
    """The outcomes of programs of all modes in turn, without end; `jobs` programs run at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = deque()
        try:
            for mode, number in ((mode, number) for number in count(seed) for mode in modes):
                waiting.append(pool.submit(run_program, mode, number, each))
                if len(waiting) == 2 * jobs:
                    yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def torture(modes, operations, seed, each, jobs):
    """Programs of all modes in turn until `operations` are done, or Ctrl-C; returns the failures."""
    done, programs, failed, latest, late, judged = (Counter() for _ in range(6))
    ends = {}
    try:
        for outcome in outcomes_of(modes, seed, each, jobs):
            mode = outcome.mode
            done[mode] += outcome.operations
            programs[mode] += 1
            failed[mode] += bool(outcome.failures)
            judged[mode] += outcome.facts["judged"]
            late[mode] += outcome.facts["late"]
            if outcome.facts["latest_ms"] > latest[mode]:
                latest[mode], ends[mode] = outcome.facts["latest_ms"], outcome.facts["latest"]
            if outcome.failures:
                print(outcome, *outcome.notes_of_failure(), sep="\n  ", flush=True)
            if outcome.only_late():
                again = [run_program(mode, outcome.seed, each).only_late() for _ in range(REPLAYS)]
                print(f"  replayed: {sum(again)} of {REPLAYS} late again", flush=True)
            if sum(done.values()) >= operations:
                break
    except KeyboardInterrupt:
        print("interrupted; until then:", flush=True)
    print(f"{'mode':9} {'operations':>10} {'programs':>8} {'failed':>6} {'writes judged':>13} "
          f"{'over 30 ms':>10} {'latest':>9}")
    for mode in modes:
        print(f"{mode:9} {done[mode]:10} {programs[mode]:8} {failed[mode]:6} {judged[mode]:13} "
              f"{late[mode]:10} {latest[mode]:6.0f} ms")
    for mode, said in ends.items():
        print(f"{mode}, the latest byte: {said}")
    return sum(failed.values())


def kill(modes, kills, seed):
    """Ends `kills` writers of each mode in each way; returns the number of rules broken."""
    broken = 0
    print(f"\n{'mode':9} {'end':8} {'must arrive':12} {'rounds':>6} {'broken':>6} {'lossy':>6} "
          f"{'most lost':>9}")
    for mode in modes:
        for how, rule in RULES[mode].items():
            sums = Counter()
            for at in range(0, kills, KILLS_AT_ONCE):
                found = end_writers(mode, how, min(KILLS_AT_ONCE, kills - at), seed + at)
                sums.update({key: found[key] for key in ("rounds", "broken", "lossy")})
                sums["most"] = max(sums["most"], found["most_lost"])
                if found["broken"]:
                    print(f"{mode} {how} seed {seed + at}: {found['first']}", flush=True)
            broken += sums["broken"]
            print(f"{mode:9} {how:8} {rule:12} {sums['rounds']:6} {sums['broken']:6} {sums['lossy']:6} "
                  f"{sums['most']:9}", flush=True)
    return broken


def main():
    parser = argparse.ArgumentParser(prog="scripts/torture")
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--operations-each", type=int, default=470)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--kills", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--mode", action="append", choices=ALL_MODES)
    parser.add_argument("--one", action="store_true")
    wanted = parser.parse_args()
    modes = wanted.mode or list(ALL_MODES)
    print(f"seed {wanted.seed}", flush=True)
    if wanted.one:
        outcomes = [run_program(mode, wanted.seed, wanted.operations_each) for mode in modes]
        for outcome in outcomes:
            print(outcome, *outcome.trace[-200:], sep="\n  ")
        return any(outcome.failures for outcome in outcomes)
    failed = torture(modes, wanted.operations, wanted.seed, wanted.operations_each, wanted.jobs)
    return bool(kill(modes, wanted.kills, wanted.seed) + failed if wanted.kills else failed)


if __name__ == "__main__":
    sys.exit(main())
