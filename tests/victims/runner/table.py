# SPDX-License-Identifier: MIT
"""Prints the table while it grows: one row a victim, one column a treatment."""

import sys

_NAME, _CELL = 18, 20
_LEGEND = "median / p90 in ms, data segments an exchange of the sick side\n"


class Table:
    """row(), then put() or failed() once a column in the order of the columns, then end()."""

    def __init__(self, columns, out=sys.stdout):
        self._out = out
        out.write(_LEGEND)
        self._write(f"{'':{_NAME}}" + "".join(f"{column:>{_CELL}}" for column in columns) + "\n")

    def _write(self, text):
        self._out.write(text)
        self._out.flush()

    def row(self, name):
        self._write(f"{name:{_NAME}}")

    def put(self, _column, measurement):
        segments = "   -" if measurement.segments is None else f"{measurement.segments:4.1f}"
        self._write(f"{measurement.median:7.2f} /{measurement.p90:6.2f}{segments:>5}".rjust(_CELL))

    def failed(self, _column):
        self._write("failed".rjust(_CELL))

    def end(self, text=""):
        self._write(f"  {text}\n" if text else "\n")
