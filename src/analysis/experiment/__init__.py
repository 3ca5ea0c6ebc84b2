# SPDX-License-Identifier: MIT
"""Runs programs, reads their statistics files, makes units of them.  Imports inference/ (to know when it may
stop) and record/."""
