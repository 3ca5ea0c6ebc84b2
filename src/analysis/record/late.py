# SPDX-License-Identifier: MIT
"""When an acknowledgement is late, in ms: the numbers of src/stats_file/late.h, which has the reasons."""

SHORTEST_MS = 30
IN_EXCHANGE_MS = 30
