/* SPDX-License-Identifier: MIT
 *
 * The findings of a source, connection by connection, in the same form for both sources.
 */
#ifndef UNSTALL_SCAN_RESULT_H
#define UNSTALL_SCAN_RESULT_H

#include <sys/types.h>

#include "estimate.h"
#include "sample.h"

enum scan_kind { SCAN_SAMPLED, SCAN_EXACT };

enum { SCAN_THREAD = 16 };

struct scan_connection {
    struct scan_key key;
    uint64_t inode, peer_inode; /* 0: not of this host's processes */
    uint32_t uid;
    pid_t pid;                /* 0: not known yet (sampled) */
    char thread[SCAN_THREAD]; /* "": not known */
    struct scan_estimate stalls;
    bool one_way; /* a stream that the peer never answers: no program waits for it */
};

struct scan_result {
    enum scan_kind kind;
    uint64_t began_ns, ended_ns;
    double share;   /* of a core, used by the scan itself */
    size_t sockets; /* connections seen at the last dump */
    unsigned dumps; /* sampled */
    uint64_t dump_every_ns;
    uint64_t lost;                       /* events that were not seen (exact) */
    size_t unwatched;                    /* sockets that held data and had no turn (sampled) */
    struct scan_connection *connections; /* only those that had stalls */
    size_t count;
    const struct scan_listeners *listening; /* the source's own (diag.h) */
};

#endif
