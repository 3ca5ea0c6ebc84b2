# SPDX-License-Identifier: MIT
"""Is the cost of an exchange flat from one connection to ten thousand, and from one thread to 64?"""

from contextlib import nullcontext

from . import configurations as conf
from .exchanges import HABIT_LEARNED, under_load
from .machine import pinned
from .rounds import paired

CONFIGURATIONS = [conf.ONE, conf.MORE, conf.BY_HAND[0], *conf.UNSTALL[:2]]

# Name -> how the server works (threads: one for each connection), connections, whether on one core.
# On all cores a cache line that two threads write would travel.
POINTS = {**{f"{n} conns": ("epoll", n, True) for n in (1, 10, 100, 1000, 10000)},
          **{f"{n} threads": ("threads", n, True) for n in (1, 8, 64)},
          "64 unpinned": ("threads", 64, False)}


def warm_up(connections):
    return max(4000, HABIT_LEARNED * connections)


def measure(kind, connections, on_one_core, rounds, exchanges):
    def once(configuration):
        return under_load(configuration, connections, warm_up(connections), 10, exchanges // 10, kind=kind)
    with pinned() if on_one_core else nullcontext():
        return paired(CONFIGURATIONS, once, rounds)
