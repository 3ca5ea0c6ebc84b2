/* SPDX-License-Identifier: MIT
 *
 * Turns a scan without an end into counters that only grow, a series for each unit, container,
 * program and user.  Pure: the caller passes the results and the processes.
 *
 * Estimates of the source `sampled` may sink.  A series then keeps the largest sum that it has
 * shown until the estimate exceeds it.
 *
 * Memory is bounded.  When a connection has had no new stall for a while, its sums are settled in
 * its series, and the caller lets the source forget it; with more connections this happens sooner.
 * A new series takes the place of one that has not grown for an hour, or counts as `others`.
 */
#ifndef UNSTALL_SCAN_LEDGER_H
#define UNSTALL_SCAN_LEDGER_H

#include "owners.h"
#include "result.h"

enum { LEDGER_SERIES = 512, LEDGER_OTHERS = 0 };

struct scan_sums {
    double stalls, lost_ns; /* of connections that are answered */
    double one_way;         /* stalls of streams that are not */
};

struct scan_series {
    char unit[SCAN_UNIT];           /* "": none */
    char container[SCAN_CONTAINER]; /* "": none */
    char program[SCAN_PROGRAM];     /* "": not to be known */
    uint32_t uid;
    struct scan_sums told;    /* the counters as shown: they never sink */
    struct scan_sums settled; /* of connections that were forgotten */
    struct scan_sums live;    /* of the known connections */
    unsigned connections;     /* ... and their number */
    uint64_t grown_ns;
};

struct ledger_connection {
    struct scan_key key;
    struct scan_sums sums;
    uint64_t began_ns, changed_ns;
    unsigned series; /* index, if `named` */
    bool named;      /* its process is known, or known not to be found */
    bool seen;       /* in the result that is being taken */
};

struct scan_ledger {
    struct scan_series series[LEDGER_SERIES]; /* [0]: others */
    size_t series_count;
    struct ledger_connection *known; /* sorted by cookie */
    size_t count;
    struct scan_key *done; /* connections for the source to forget, after scan_ledger_take() */
    size_t done_count;
};

/* The sending process of a connection.  NULL: not known yet; pid 0: it cannot be found. */
typedef const struct scan_process *ledger_process_fn(const struct scan_connection *c, void *arg);

void scan_ledger_begin(struct scan_ledger *l);

/* Takes the present findings of the source.  0, or -ENOMEM with nothing taken. */
int scan_ledger_take(struct scan_ledger *l, const struct scan_result *r, uint64_t now_ns,
                     ledger_process_fn *process_of, void *arg);

/* The source has ended: settles the sums of all connections. */
void scan_ledger_settle(struct scan_ledger *l);

void scan_ledger_end(struct scan_ledger *l);

#endif
