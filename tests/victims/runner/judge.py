# SPDX-License-Identifier: MIT
"""Judges a measurement under a treatment. Pure: numbers in, complaints out.

A stall is a delayed acknowledgement: 40 ms and a tick.  Nothing here is tighter than the
difference between 5 ms and that.
"""

from .measurement import WARM
from .observed import wrong_of_victim, wrong_of_well

STALLING_MS = 30.0
CURED_MS = 5.0
# A whole run of a program takes more time than its stalls: it is compared with bare runs.  A gain between
# the two proves nothing.  That the stall is there shows in the shortest runs, which other work lengthens
# least.  A cure is judged by the median: most runs must do without the stall.
GAIN_MS = 35.0
NO_GAIN_MS = 10.0
# Under load: the share of the own cure's requests a second, and the multiple of bare (the story of JRuby).
OF_OWN_CURE = 0.9
OF_BARE = 8.7
# Of the time of a bare client that sends once (the story of geventhttpclient), in the modes that add no call:
# the second segment of nodelay and cork's pushes have their price.
MOST_OF_ONCE = 1.1
LIKE_ONCE = ("auto", "coalesce")
# An exchange here and there is cut otherwise by chance (a late reader, a window that ended).
STATS_SLACK = 0.25
# Quick turns after which auto holds where no window is kept (src/preload/policy/policy.h).
HABIT = 16
# Of the exchanges that stalled, the share that the report must tell of.
TOLD = 0.8


def _time_of_exchange(measurement, expects):
    median = measurement.median
    if expects == "stalls" and median < STALLING_MS:
        return [f"median {median:.1f} ms: the stall is not there (under {STALLING_MS:g} ms)"]
    if expects == "cured" and median >= CURED_MS:
        return [f"median {median:.1f} ms: the stall is still there (not under {CURED_MS:g} ms)"]
    return []


def _time_of_run(measurement, expects):
    if expects == "stalls" and measurement.median < STALLING_MS:
        return [f"median {measurement.median:.1f} ms: no stall fits into that"]
    if not measurement.bare_ms:
        return []
    if expects == "stalls" and measurement.gain_of_shortest > NO_GAIN_MS:
        return [f"lower quartile {measurement.gain_of_shortest:.1f} ms under bare: the stall is not there"]
    if expects == "cured" and measurement.gain < GAIN_MS:
        return [f"median {measurement.median:.1f} ms, {measurement.gain:.1f} ms under bare: "
                "the stall is still there"]
    return []


def _rate(rates, expects):
    found = []
    if expects != "cured" or "bare" not in rates:
        return found
    if rates["treated"] < OF_BARE * rates["bare"]:
        found.append(f"{rates['treated']:.0f} requests a second, bare {rates['bare']:.0f}: "
                     f"under {OF_BARE} times")
    if "own cure" in rates and rates["treated"] < OF_OWN_CURE * rates["own cure"]:
        found.append(f"{rates['treated']:.0f} requests a second, {rates['own cure']:.0f} with its own cure")
    return found


def _verdict(victim, measurement):
    """Whether the report names the stall, on the right side, and about as often as it was there."""
    found = measurement.observed
    stalled = sum(time >= STALLING_MS for time in measurement.times_ms)
    if measurement.rates:  # under load every exchange stalls
        stalled = found.row["exchanges"]
    most = stalled / TOLD + WARM + 2  # the warm-up may stall, too
    return wrong_of_victim(found, victim.sick, victim.verdict, TOLD * stalled, most, victim.pieces)


def complaints(victim, treatment, measurement):
    """All that is wrong with `measurement`.  A version that does not stall may do so under no treatment."""
    if victim.well_version():
        found = _time_of_exchange(measurement, "cured")
        return found + wrong_of_well(measurement.observed) if measurement.observed else found
    found = _of_times(victim, treatment, measurement)
    return found + _verdict(victim, measurement) if measurement.observed else found


def may_be_noise(victim, treatment, measurement, found):
    """Whether other work on the machine can cause all of `found`: a time between cured and stalled, a whole
    run that is not shorter than bare ones (beside 20 runnable neighbours a cured one gained 3 ms), or more
    segments, because the window ended while the program waited for a processor.  Of a report, the numbers: a
    peer that waits for a processor between two pieces looks like one that stalls, and the verdict may name
    it."""
    if victim.well_version():
        return measurement.median < STALLING_MS and all("still there" in text for text in found)
    of_peer = any("stalls of the peer" in text for text in found)

    def one_may(text):
        if treatment.expects == "stalls":
            if "not there" in text and victim.whole_run:
                return measurement.gain_of_shortest < GAIN_MS
            if "not there" in text:
                return measurement.median >= CURED_MS
            return of_peer or "stalls are told" in text
        if treatment.expects != "cured":
            return False
        if "still there" in text:
            return victim.whole_run or measurement.median < STALLING_MS
        return "data segments" in text

    return not measurement.rates and all(map(one_may, found))


def _most_segments(victim, treatment, measurement):
    """In a program with a single thread auto holds by habit; before that its exchanges are as in nodelay."""
    most = victim.segments.get(treatment.name)
    if most is None or treatment.name != "auto":
        return most
    plain = victim.segments.get("nodelay", most)
    learning = 1 if victim.whole_run else min(1, (HABIT + 1) / len(measurement.times_ms))
    return most + (plain - most) * learning


def _of_times(victim, treatment, measurement):
    judge_time = _time_of_run if victim.whole_run else _time_of_exchange
    if measurement.rates:  # under load the latency is the queue's, too
        return _rate(measurement.rates, treatment.expects)
    found = judge_time(measurement, treatment.expects)
    once = measurement.once
    if once and treatment.name in LIKE_ONCE and once.ratio > MOST_OF_ONCE:
        found.append(f"{once.ratio:.3f} times the time of sending once, bare: over {MOST_OF_ONCE}")
    most = _most_segments(victim, treatment, measurement)
    if most is not None and measurement.segments is not None:
        if measurement.segments > most + STATS_SLACK:
            found.append(f"{measurement.segments:.2f} data segments an exchange, at most {most:.2f}")
    return found
