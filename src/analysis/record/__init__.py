# SPDX-License-Identifier: MIT
"""The measurements of an experiment, in memory and as a file.  Lowest layer: it imports no other folder."""
