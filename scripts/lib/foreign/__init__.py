# SPDX-License-Identifier: MIT
"""Other people's test suites, bare and under the library: what scripts/lib/foreign-suites.py is made of."""
