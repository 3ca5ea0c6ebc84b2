/* SPDX-License-Identifier: MIT
 *
 * What was done: counts live in each connection, under its lock, and are added
 * to the process's totals when the connection ends, so that the write path
 * shares no counter between connections.  The report adds the connections that
 * still live.
 */
#ifndef UNSTALL_STATS_H
#define UNSTALL_STATS_H

#include "conn.h"

/* The last descriptor of c is about to be closed.  Lock held. */
void stats_connection_ends(struct conn *c, int fd);

/* Write the report where UNSTALL_REPORT says; nothing without it. */
void stats_report(void);

/* The segment: what has not been moved there yet.  `replaced`: the connections live
 * on in the program that replaces this one. */
void stats_process_ends(bool replaced);

/* In the child of a fork: its own totals start at zero. */
void stats_forked(void);

#endif
