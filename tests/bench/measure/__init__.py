# SPDX-License-Identifier: MIT
"""What scripts/bench measures, one file per kind of measurement."""
