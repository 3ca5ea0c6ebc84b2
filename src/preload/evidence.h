/* SPDX-License-Identifier: MIT
 *
 * What is kept of a connection only where statistics or observe are on: times,
 * the place in the segment, and what stalls are proved by.
 *
 * Ownership: one struct a connection, from a pool of mapped chunks that are
 * never unmapped, so that a connection itself stays at 256 bytes.  It is made
 * when the connection has (or is getting) two ends, and given back when the
 * connection is reset.  Everything in it belongs to the holder of the
 * connection's lock.
 *
 * Fork: the child keeps its copy; evidence_repair() makes it point nowhere,
 * because the child's segment is another.
 */
#ifndef UNSTALL_EVIDENCE_H
#define UNSTALL_EVIDENCE_H

#include "config.h"
#include "conn.h"
#include "../segment/segment.h"

#define EVIDENCE_NONE UINT32_MAX
enum { NO_ARM = 0xff, EVIDENCE_COUNTERS = COUNT_QUICKACK_SAVED_NS - COUNT_SUSPECTS + 1 };

struct evidence {
    struct evidence *next_free;
    /* ---- written by tally.c ---- */
    uint64_t born; /* connect or accept or first sight; ns of CLOCK_MONOTONIC, as all here */
    uint64_t message_began; /* just before the first write of the open message; 0: none is open */
    uint64_t input_at;      /* the input that ended the last message, until a write; 0: none */
    uint64_t early;       /* message_began of a message that was answered before it was accounted */
    uint64_t early_input; /* ... and the time of that input */
    uint32_t row;         /* in the segment; EVIDENCE_NONE: not known yet */
    uint32_t record;      /* in the segment; EVIDENCE_NONE: none */
    uint32_t experiment;  /* the config's, in which the arm was given */
    uint8_t arm;          /* NO_ARM: takes no part */
    bool arm_known;       /* ... or it was decided that it takes no part */
    bool wrote;           /* it has written at all */
    bool dark_told;
    bool ended;
    bool ends_known;
    struct segment_address peer, local; /* if ends_known */
    uint8_t since_moved;                /* writes since the counts were last moved to the segment */
    uint32_t small_writes;              /* all that were counted as small */
    uint32_t small_told;                /* ... of them those that are in the segment */
    struct conn_counts told;            /* of c->counts, what is in the segment already */
    uint64_t exchange_longest;          /* ns */
    /* ---- written by evidence.c ---- */
    /* Since the connection began, in the order of the segment: found[COUNT_x - COUNT_SUSPECTS]. */
    uint64_t found[EVIDENCE_COUNTERS];
    uint64_t told_found[EVIDENCE_COUNTERS]; /* what of it is in the segment already (tally.c) */
};

/* Does this configuration want it at all? */
static inline bool evidence_wanted(const struct config *c) {
    return c->stats != NULL || c->arms.count > 0 || c->mode == MODE_OBSERVE;
}

/* Give c its evidence, if the configuration wants it and it has none.  Lock
 * held.  False: it has none (not wanted, or no memory). */
bool evidence_begin(struct conn *c);

/* Back to the pool.  Lock held. */
void evidence_free(struct conn *c);

/* In the child of a fork.  Lock held. */
void evidence_repair(struct conn *c);

#endif
