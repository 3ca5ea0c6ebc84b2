/* SPDX-License-Identifier: MIT
 *
 * How many exchanges there were while a scan looked, for its verdict: "no stall" says something only of
 * exchanges.  An exchange has a segment of data in each direction at least, so the smaller growth of the two
 * counters is taken for the number; a connection within this host counts once.  Looks are a second and more
 * apart, and a connection that began and ended in between is not seen.
 */
#ifndef UNSTALL_SCAN_TRAFFIC_H
#define UNSTALL_SCAN_TRAFFIC_H

#include "diag.h"
#include "scan_table.h"

struct scan_traffic {
    struct scan_diag *diag;
    uint16_t port; /* 0: any */
    struct scan_filter filter;
    struct traffic_end *before; /* of the last look, sorted */
    size_t before_count;
    bool looked;      /* before */
    uint64_t cost_ns, looked_ns; /* of the last look: how long it took, when it ended (scan_now()) */
    uint64_t exchanges, firsts;
    char because[96]; /* why they cannot be counted; "": they are */
};

void scan_traffic_begin(struct scan_traffic *t, const struct scan_filter *filter, uint16_t port,
                        pid_t namespace_of);
void scan_traffic_look(struct scan_traffic *t);
void scan_traffic_end(struct scan_traffic *t);

#endif
