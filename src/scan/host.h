/* SPDX-License-Identifier: MIT
 *
 * A scan of the whole host without an end, in a thread of its own: what `unstall metrics --host`
 * serves.  Another thread reads it by scan_host_read().
 */
#ifndef UNSTALL_SCAN_HOST_H
#define UNSTALL_SCAN_HOST_H

#include "ledger.h"
#include "source.h"

struct scan_host;

struct scan_host_state {
    enum scan_kind kind;
    const char *not_exact; /* "": it is, or was asked not to be */
    const char *failure;   /* why nothing is looked at just now; "": it is */
    bool sees_all;         /* processes of all users, not of our own only */
    size_t sockets;        /* sampled */
    uint64_t lost;         /* exact: events without room */
    uint64_t own_time_ns;  /* processor time of the scan */
    const struct scan_ledger *ledger;
};

/* `source` as for scan_source_begin().  NULL, and the reason in `error`. */
struct scan_host *scan_host_begin(const char *source, const struct scan_options *o,
                                  char error[SCAN_ERROR]);

/* Let `read` look at what there is by now; it must not take long. */
void scan_host_read(struct scan_host *h, void (*read)(const struct scan_host_state *s, void *arg),
                    void *arg);

void scan_host_end(struct scan_host *h);

#endif
