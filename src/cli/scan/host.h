/* SPDX-License-Identifier: MIT
 *
 * A scan of the whole host without an end, in a thread of its own, for `unstall metrics --host`.
 * Other threads read its results by scan_host_read().
 */
#ifndef UNSTALL_SCAN_HOST_H
#define UNSTALL_SCAN_HOST_H

#include "ledger.h"
#include "source.h"

struct scan_host;

struct scan_host_state {
    enum scan_kind kind;
    const char *not_exact; /* why the source is not `exact`; "": it is, or `sampled` was asked for */
    const char *failure;   /* why the scan stands still; "": it runs */
    bool sees_all;         /* the processes of all users can be named, not only our own */
    size_t sockets;        /* sampled */
    uint64_t lost;         /* exact: events that were not seen */
    uint64_t own_time_ns;  /* processor time of the scan */
    const struct scan_ledger *ledger;
};

/* `source` as for scan_source_begin().  NULL, and the reason in `error`. */
struct scan_host *scan_host_begin(const char *source, const struct scan_options *o,
                                  char error[SCAN_ERROR]);

/* Calls `read` with the present results, under the lock that stops the scan: it must be quick. */
void scan_host_read(struct scan_host *h, void (*read)(const struct scan_host_state *s, void *arg),
                    void *arg);

void scan_host_end(struct scan_host *h);

#endif
