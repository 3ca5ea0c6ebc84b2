# SPDX-License-Identifier: MIT
"""A test must end in every mode as it ends bare; a test that differs is run again, and judged.

A suite here is an object with a `name`, `run(mode, host, only=None)`, which gives the Run of all of it
or of one test, and `only(test)`: the argument of `run` for that test, None where only all can be run again.
"""

from collections import Counter
from dataclasses import dataclass, field

TRIES = 3  # of a test that ended otherwise, bare and in its mode
MORE = 10  # where it ended now as bare, now otherwise
TOO_MANY = 20  # to be run again: something is broken

RANK = ("passed", "skipped", "expected failure", "failed", "error", "hung")


@dataclass
class Run:
    """One suite, run once.  An outcome begins with a word of RANK; more may follow a colon."""
    outcomes: dict = field(default_factory=dict)  # test -> outcome
    seconds: float = 0
    connections: int = 0
    worked: int = 0  # writes held or buffered, and late pushes

    def note(self, test, outcome):
        """A test's outcome; of several the worst counts."""
        self.outcomes[test] = max(self.outcomes.get(test, outcome), outcome, key=rank)

    def counted(self):
        """`118 passed, 2 skipped`"""
        counts = Counter(word(outcome) for outcome in self.outcomes.values())
        return ", ".join(f"{counts[name]} {name}" for name in RANK if counts[name])


def word(outcome):
    """The word of RANK that an outcome begins with."""
    return outcome.partition(":")[0]


def rank(outcome):
    """How bad an outcome is."""
    return RANK.index(word(outcome))


_KEYS = "one of the 1024 keys of threads is the library's, to see a thread's end"
_KEYS_TEST = "interfaces/pthread_key_create/speculative/pthread_key_create_speculative_5-1.run-test"

# (suite, test, mode) -> why a difference is meant to be; the manual says so, too.
EXPLAINED = {
    ("LTP POSIX", _KEYS_TEST, "auto"): _KEYS,
    ("LTP POSIX", _KEYS_TEST, "coalesce"): _KEYS,
}


@dataclass
class Judged:
    """A test that did not end as bare; `noise` if bare differs from bare."""
    suite: str
    mode: str
    test: str
    verdict: str
    bare: list
    other: list

    def __str__(self):
        reason = EXPLAINED.get((self.suite, self.test, self.mode)) if self.verdict == "explained" else None
        told = f"{self.verdict}: {self.test}, {self.mode}: {counted(self.other)}. bare: {counted(self.bare)}"
        return told + (f" ({reason})" if reason else "")


def counted(outcomes):
    """`3 passed; 1 failed: status 1`"""
    return "; ".join(f"{count} {outcome}" for outcome, count in Counter(outcomes).items())


def differences(bare, other):
    """Tests that ended differently, or are in one run only."""
    return sorted(test for test in bare.outcomes.keys() | other.outcomes.keys()
                  if bare.outcomes.get(test) != other.outcomes.get(test))


def verdict(bare, other):
    """`flaky` or `different`, from all the outcomes of one test, bare and under a mode."""
    odd = [outcome for outcome in other if outcome not in set(bare)]
    return "different" if 3 * len(odd) > len(other) else "flaky"


def judge(suite, mode, test, runs, host):
    """Run a test again, bare and under its mode, and name the cause of the difference."""
    only = suite.only(test)
    seen = {"bare": [], mode: []}
    for which, outcomes in seen.items():
        outcomes.append(runs[which].outcomes.get(test, "absent"))
    for tries in (TRIES, MORE):
        for which, outcomes in seen.items():
            for _ in range(tries):
                outcomes.append(suite.run(which, host, only).outcomes.get(test, "absent"))
        if not set(seen["bare"]) & set(seen[mode]):
            break
    found = verdict(seen["bare"], seen[mode])
    if found == "different" and (suite.name, test, mode) in EXPLAINED:
        found = "explained"
    return Judged(suite.name, mode, test, found, seen["bare"], seen[mode])


def compare(suite, runs, modes, host, say):
    """The tests of `runs` (mode -> Run) that are not as bare, each judged."""
    judged = []
    for mode in modes:
        odd = differences(runs["bare"], runs[mode])
        if len(odd) > TOO_MANY:
            judged += [Judged(suite.name, mode, test, "different",
                              [runs["bare"].outcomes.get(test, "absent")],
                              [runs[mode].outcomes.get(test, "absent")]) for test in odd]
        else:
            judged += [judge(suite, mode, test, runs, host) for test in odd]
    for one in judged:
        say(f"  {one}")
    return judged
