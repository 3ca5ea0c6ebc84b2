/* SPDX-License-Identifier: MIT
 *
 * A scan without an end, as counters that only grow: by unit, container, program and user.
 * Pure: the results and the processes come in, series come out.
 *
 * Estimates of the source `sampled` may sink.  A series then keeps the largest sum that it has
 * told, and grows again when the sum has reached that one.
 *
 * Memory is bounded.  A connection without a new stall for a while is put into its series for
 * good, and the caller lets the source forget it; the sooner, the more connections there are.  A
 * new series takes the place of one that has not grown for an hour, or counts as `others`.
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
    struct scan_sums told;    /* counted by the series */
    struct scan_sums settled; /* of connections that were forgotten */
    struct scan_sums live;    /* of the others */
    unsigned connections;     /* ... and how many these are */
    uint64_t grown_ns;
};

struct ledger_connection {
    struct scan_key key;
    struct scan_sums sums;
    uint64_t began_ns, changed_ns;
    unsigned series; /* only if it is named */
    bool named, seen;
};

struct scan_ledger {
    struct scan_series series[LEDGER_SERIES]; /* [0]: others */
    size_t series_count;
    struct ledger_connection *known; /* sorted by cookie */
    size_t count;
    struct scan_key *done; /* connections for the source to forget, after scan_ledger_take() */
    size_t done_count;
};

/* Who sends on this connection: NULL while that is not known yet, pid 0 where it is not to be known. */
typedef const struct scan_process *ledger_process_fn(const struct scan_connection *c, void *arg);

void scan_ledger_begin(struct scan_ledger *l);

/* Take the findings of the source by now.  0 or -ENOMEM, and nothing was taken. */
int scan_ledger_take(struct scan_ledger *l, const struct scan_result *r, uint64_t now_ns,
                     ledger_process_fn *process_of, void *arg);

/* The source has ended: its rows are final. */
void scan_ledger_settle(struct scan_ledger *l);

void scan_ledger_end(struct scan_ledger *l);

#endif
