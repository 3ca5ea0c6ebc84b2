/* SPDX-License-Identifier: MIT
 *
 * The report.  Each connection has its own counters, under its lock; they are added
 * to the process's totals when the connection ends.  So the write path shares no
 * counter between connections.  The report adds the connections still open.
 */
#ifndef UNSTALL_REPORT_H
#define UNSTALL_REPORT_H

#include "config.h"
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

/* ---- log lines ----------------------------------------------------------
 *
 * UNSTALL_VERBOSE: log lines about the library's actions.  Level 1: a line at the start,
 * and one for the first late push of each connection.  Level 2: one for every late push.
 * No line is written under a connection's lock: a full pipe may block.
 */

static inline bool verbose(unsigned level) {
    return UNLIKELY(config()->verbose >= level);
}

void verbose_start(void);
/* TCP_NODELAY was set before a write of `bytes`; `first` on this connection. */
void verbose_late_push(int fd, size_t bytes, bool first);

#endif
