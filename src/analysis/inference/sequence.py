# SPDX-License-Identifier: MIT
"""A confidence sequence: an interval that stays valid when it is read after every round.

A fixed 95 % interval that is read after every round, with a stop at the first winner, is wrong far more
often than 5 % of the time.  A confidence sequence is valid at all rounds at once: the probability that
it ever misses the truth is below alpha, for every rule of stopping (Ville's inequality).

This one is for the median theta of the paired log ratios d_1, d_2, ...  Each sign(d_i - theta) is a
fair coin, for every distribution of the ratios, also one that changes from round to round.  A bettor
stakes a share of his capital on the coin; Krichevsky and Trofimov draw that share from the arc-sine
law.  After n rounds with k of one sign the capital is

    K(k, n) = 2^n B(k + 1/2, n - k + 1/2) / B(1/2, 1/2)

times the stake, which is a martingale of mean 1.  The sequence holds each theta at which the capital is
below 1 / alpha.  At 95 % seven rounds of the same sign are enough.  Heavy tails do not widen it.
"""

import bisect
import math

from inference.ranks import INFINITE, Contrast


def log_capital(k, n):
    """log K(k, n)."""
    return (n * math.log(2) + math.lgamma(k + 0.5) + math.lgamma(n - k + 0.5) -
            math.lgamma(n + 1) - math.log(math.pi))


def _cut(n, alpha):
    """The largest k < n / 2 with K(k, n) >= 1 / alpha, or -1.  K falls as k grows to n / 2, so
    bisection finds it."""
    return bisect.bisect(range((n + 1) // 2), math.log(alpha), key=lambda k: -log_capital(k, n)) - 1


def anytime(differences, alpha):
    """Paired log ratios, in the order of the rounds -> a contrast that is valid at each round.  So is
    its p: one over the greatest capital so far against `no difference`."""
    values = sorted(differences)
    n = len(values)
    if n == 0:
        return Contrast(math.nan, *INFINITE, 1.0, 0.0, 0)
    middle = (values[(n - 1) // 2] + values[n // 2]) / 2
    cut = _cut(n, alpha)
    low, high = INFINITE if cut < 0 else (values[cut], values[n - 1 - cut])
    signs = [int(d > 0) - int(d < 0) for d in differences]
    return Contrast(middle, low, high, _p(signs), sum(signs) / n, n)


def _p(signs):
    """Against a median of zero; a ratio of exactly 1 has no sign and is not counted."""
    above = bets = 0
    most = 0.0
    for sign in signs:
        bets += sign != 0
        above += sign > 0
        if sign:
            most = max(most, log_capital(above, bets))
    return math.exp(-most)
