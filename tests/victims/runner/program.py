# SPDX-License-Identifier: MIT
"""A victim that is a program of its folder: WORDS PORT MORE [nodelay]."""


def measures(words, run, *more):
    """The measure() by `run(treatment, scratch, command)`; a word may be a function that builds it."""
    def measure(treatment, scratch):
        built = [word() if callable(word) else word for word in words]
        return run(treatment, scratch, lambda port: [*built, port, *more, *treatment.words])

    return measure
