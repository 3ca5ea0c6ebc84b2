# SPDX-License-Identifier: MIT
"""Test suites of other projects, bare and under the library: the parts of scripts/lib/foreign-suites.py."""
