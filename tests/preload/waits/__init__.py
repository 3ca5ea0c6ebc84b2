# SPDX-License-Identifier: MIT
"""One held write, then one call of every name of the surface table."""
