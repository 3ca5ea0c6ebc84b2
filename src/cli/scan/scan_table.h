/* SPDX-License-Identifier: MIT
 *
 * Adds connections up into rows, one for each process and endpoint, the heaviest first.
 *
 * The caller looks for processes while the scan runs, so that a connection that ends before the scan
 * has a process too.  `owners` keeps the processes found.
 */
#ifndef UNSTALL_SCAN_TABLE_H
#define UNSTALL_SCAN_TABLE_H

#include "owners.h"
#include "result.h"

struct scan_row {
    struct scan_process process; /* the sender; pid 0: not found */
    struct scan_process peer;    /* the receiver; pid 0: elsewhere, several, or not found */
    bool peer_local;             /* the receiver is on this host */
    bool listens;                /* `endpoint` is the sender's own; else the peer's */
    bool one_way;
    struct stats_address endpoint;
    uint32_t uid;
    unsigned connections;
    char thread[SCAN_THREAD];
    struct scan_estimate stalls;
};

struct scan_table {
    struct scan_owner *owners; /* sorted by inode */
    size_t owner_count, sorted;
    size_t looked; /* descriptors read so far in /proc */
    size_t enough; /* a walk with fewer descriptors to read would be incomplete again */
    bool seeks;    /* some processes are still to be looked for */
    struct scan_row *rows;
    size_t count;             /* of rows */
    size_t one_way;           /* rows of streams that are never answered; they come last */
    struct scan_estimate all; /* the sum of the other rows */
};

struct scan_filter {
    pid_t pid;          /* of the sender or the receiver; 0: any */
    const char *cgroup; /* of the sender or the receiver (scan_cgroup_matches()); NULL: any */
};

/* Finds the processes of sockets that no walk has looked for yet.  All calls together read at most
 * `most` descriptors.  0 or -ENOMEM. */
int scan_table_learn(struct scan_table *t, const struct scan_result *r, size_t most);

/* Drops the processes of sockets that are not in the result. */
void scan_table_keep(struct scan_table *t, const struct scan_result *r);

/* The sender, in *room; NULL: not known yet.  pid 0: it cannot be found. */
const struct scan_process *scan_table_sender(const struct scan_table *t,
                                             const struct scan_connection *c,
                                             struct scan_process *room);

/* Makes all rows again.  0 or -ENOMEM. */
int scan_table_make(struct scan_table *t, const struct scan_result *r, const struct scan_filter *f);

void scan_table_end(struct scan_table *t);

#endif
