# SPDX-License-Identifier: MIT
"""A confidence sequence: an interval that may be looked at after every round.

Whoever looks at an ordinary 95 % interval again and again, and stops when it pleases, is wrong far
more often than 5 % of the time.  This one is right at all times at once: the probability that it
ever misses is below alpha, whatever made one stop (Ville's inequality).

It is for the median of the paired log ratios d_1, d_2, ...  If theta is that median, each
sign(d_i - theta) is a fair coin, whatever the tails and however they change from round to round.
Who bets on such a coin with a share of his capital, the share drawn from the arc-sine law
(Krichevsky and Trofimov's bettor), has after n rounds with k of one sign

    K(k, n) = 2^n B(k + 1/2, n - k + 1/2) / B(1/2, 1/2)

times his stake.  That is a martingale of mean 1; the sequence holds all theta at which the capital
is below 1 / alpha.  Seven rounds that all agree are enough at 95 %; the tails cost nothing.
"""

import math

from inference import INFINITE, Contrast


def log_capital(k, n):
    """log K(k, n)."""
    return (n * math.log(2) + math.lgamma(k + 0.5) + math.lgamma(n - k + 0.5) -
            math.lgamma(n + 1) - math.log(math.pi))


def _cut(n, alpha):
    """The largest k < n / 2 with K(k, n) >= 1 / alpha, or -1: K falls as k grows to n / 2."""
    wanted, low, high = -math.log(alpha), -1, (n + 1) // 2
    while high - low > 1:
        middle = (low + high) // 2
        if log_capital(middle, n) >= wanted:
            low = middle
        else:
            high = middle
    return low


def anytime(differences, alpha):
    """Paired log ratios, in the order in which they came -> a contrast that may be looked at
    always.  Its p is always valid, too: one over the greatest capital so far against `no
    difference`."""
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
    """Against a median of zero; rounds without a sign are no bets."""
    above = bets = 0
    most = 0.0
    for sign in signs:
        bets += sign != 0
        above += sign > 0
        if sign:
            most = max(most, log_capital(above, bets))
    return math.exp(-most)
