# SPDX-License-Identifier: MIT
"""What an experiment has measured, in memory and as a file.  Lowest layer: it imports no other folder."""
