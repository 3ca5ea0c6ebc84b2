# SPDX-License-Identifier: MIT
"""Drives a sick server that answers a line by a line with its length and a line with the words."""

from .asked import all_there, asked


def said(number):
    return b"line number %d" % number


def right(number, so_far):
    return all_there(so_far, b"200 %d\nyou said %s\n" % (len(said(number)), said(number)))


def line_server(*words):
    """The measure() of a victim that is such a server."""
    return asked(*words, requests=lambda number: said(number) + b"\n", right=right, exchanges=15)
