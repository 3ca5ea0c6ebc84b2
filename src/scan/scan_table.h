/* SPDX-License-Identifier: MIT
 *
 * From connections to rows: one for each process and endpoint, the heaviest first.
 *
 * Processes are looked for while the scan runs, so that connections that end before it are
 * named too.  What was found stays in `owners`.
 */
#ifndef UNSTALL_SCAN_TABLE_H
#define UNSTALL_SCAN_TABLE_H

#include "owners.h"
#include "result.h"

struct scan_row {
    struct scan_process process; /* pid 0: not to be known */
    struct scan_process peer;    /* the receiver, if it is on this host and to be known */
    bool peer_local;             /* it is on this host */
    bool listens;                /* `endpoint` is the process's own; else the peer's */
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
    size_t looked; /* at descriptors of processes, so far */
    size_t enough; /* descriptors for a walk through all of them, as far as is known */
    bool seeks;    /* some processes are still to be looked for */
    struct scan_row *rows;
    size_t count;             /* of rows */
    size_t one_way;           /* of them: streams that are not answered; they come last */
    struct scan_estimate all; /* of the others, added up */
};

struct scan_filter {
    pid_t pid;          /* sender or receiver; 0: any */
    const char *cgroup; /* of one of them (scan_cgroup_matches()); NULL: any */
};

/* Find the processes of sockets not looked for yet, with no more than `most` descriptors looked
 * at in all calls together.  0 or -ENOMEM. */
int scan_table_learn(struct scan_table *t, const struct scan_result *r, size_t most);

/* Drop the processes of sockets that the result has not. */
void scan_table_keep(struct scan_table *t, const struct scan_result *r);

/* The sender, in *room; NULL: not known yet.  pid 0: not to be known. */
const struct scan_process *scan_table_sender(const struct scan_table *t,
                                             const struct scan_connection *c,
                                             struct scan_process *room);

/* Make the rows anew.  0 or -ENOMEM. */
int scan_table_make(struct scan_table *t, const struct scan_result *r, const struct scan_filter *f);

void scan_table_end(struct scan_table *t);

#endif
