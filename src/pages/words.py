# SPDX-License-Identifier: MIT
"""Numbers in words, as the command's own reports have them."""

import math

UNITS = (("h", 3600e9, 3600e9), ("min", 60e9, 180e9), ("s", 1e9, 999.5e6), ("ms", 1e6, 999.5e3),
         ("µs", 1e3, 1e3), ("ns", 1, 0))


def time_of(ns):
    """A time with three digits: "43.6 ms"."""
    ns = int(ns)
    name, unit, _ = next(row for row in UNITS if ns >= row[2])
    value = ns / unit
    digits = 0 if unit == 1 or value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} {name}"


def duration(ms):
    """A time as `unstall explain` writes it: tenths of a millisecond up to a second."""
    if ms >= 100000:
        return time_of(ms * 1e6)
    return f"{ms:.2f} ms" if ms < 10 else f"{ms:.1f} ms" if ms < 1000 else f"{ms / 1000:.2f} s"


def count(number):
    """A whole number, in groups of three from 10 000 on."""
    return f"{number:,}".replace(",", " ") if number > 9999 else str(number)


def some(number, word):
    """"1 stall", "2 stalls"."""
    return f"{count(number)} {word}{'' if number == 1 else 's'}"


def number(value, digits=3):
    """A number with three significant digits and at most three decimals (six below 0.01), or a dash."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(places, digits if abs(value) >= 0.01 else 6)}f}"


def p_value(p):
    """A p value with four places at most."""
    return "<0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.01 else f"{p:.2f}"
