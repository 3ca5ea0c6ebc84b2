/* SPDX-License-Identifier: MIT
 *
 * The report.  Each connection has its own counters, under its lock; they are added
 * to the process's totals when the connection ends.  So the write path shares no
 * counter between connections.  The report adds the connections still open.
 */
#ifndef UNSTALL_STATS_H
#define UNSTALL_STATS_H

#include "conn.h"

/* The last descriptor of c is about to be closed.  Lock held. */
void stats_connection_ends(struct conn *c, int fd);

/* Write the report to the target of UNSTALL_REPORT, if it is set. */
void stats_report(void);

/* Move the remaining counts to the statistics file.  `replaced`: exec replaces this program,
 * and its connections go on. */
void stats_process_ends(bool replaced);

/* In the child of a fork: its own totals start at zero. */
void stats_forked(void);

#endif
