# SPDX-License-Identifier: MIT
"""A victim that is a program of its folder: WORDS PORT MORE [nodelay]."""

from .victims import HOME


def measures(words, run, *more):
    """The measure() by `run(treatment, scratch, command)`.

    A word is a file below tests/victims if there is a slash in it, and may be a function that builds it.
    """
    def measure(treatment, scratch):
        built = [word() if callable(word) else HOME / word if "/" in word else word for word in words]
        return run(treatment, scratch, lambda port: [*built, port, *more, *treatment.words])

    return measure
