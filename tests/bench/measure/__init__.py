# SPDX-License-Identifier: MIT
"""The measurements of scripts/bench, one file for each kind."""
