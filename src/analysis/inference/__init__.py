# SPDX-License-Identifier: MIT
"""From units to a verdict: pure calculation, without a file, a process or a clock.  Imports record/."""
