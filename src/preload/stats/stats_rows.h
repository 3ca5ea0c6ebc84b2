/* SPDX-License-Identifier: MIT
 *
 * The writer of the statistics segment (UNSTALL_STATS): the file, its rows and
 * its records.  The format is ../segment/segment.h.
 *
 * The file is made when the process meets TCP for the first time, so that one
 * without TCP, and a fork that only runs another program, cost nothing.  Making
 * it is the only thing here that makes system calls.
 *
 * Ownership: the mapping is made once in a process and stays; after fork the
 * child unmaps its copy before anything else and makes its own when it needs
 * one.  (MADV_DONTFORK would do that too, but a handler that forks while this
 * thread adds to a counter would then return into a hole: SIGSEGV.)
 *
 * Locking: counters are added to with relaxed atomics, by anybody.  Rows and
 * records are handed out under a short lock of their own.  Nothing here takes a
 * connection's lock.
 */
#ifndef UNSTALL_STATS_ROWS_H
#define UNSTALL_STATS_ROWS_H

#include "base.h"
#include "evidence.h"
#include "segment.h"
#include "stats_file.h"

extern uint32_t segment_state; /* enum segment_life */

enum segment_life { LIFE_NONE, LIFE_MAKING, LIFE_THERE, LIFE_REFUSED };

void segment_make(void);

/* Wanted, and neither there nor refused (but perhaps being made)? */
static inline bool segment_wanted(void) {
    return UNLIKELY(config()->stats != NULL) && LOAD(&segment_state) <= LIFE_MAKING &&
           !config()->quiet;
}

/* The process meets TCP.  Not under a connection's lock; keeps errno. */
static inline void segment_meets_tcp(void) {
    if (segment_wanted())
        segment_make();
}

/* The row of an endpoint; 0, `other`, where all are taken. */
uint32_t segment_row(const struct segment_row *wanted);

/* A record, being written: the caller fills it in and says segment_valid().
 * EVIDENCE_NONE: all belong to living connections. */
uint32_t segment_record(void);
void segment_valid(uint32_t *state);
/* Its connection has ended: the record may be given to another. */
void segment_record_ended(uint32_t record);

static inline void segment_add_at(struct segment *s, uint32_t row, enum segment_counter what,
                                  uint64_t n) {
    uint64_t *counter = &s->shard[row][thread_tag() % SEGMENT_SHARDS].counter[what];
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Count for a connection: into its row, or `other` as long as it has none.
 * Lock held. */
static inline void segment_add(const struct evidence *e, enum segment_counter what, uint64_t n) {
    struct segment *s = segment_now();
    if (s)
        segment_add_at(s, e->row == EVIDENCE_NONE ? 0 : e->row, what, n);
}

/* Has this process, or one that it was forked from, ever had one? */
bool segment_in_family(void);
/* In the child of a fork. */
void segment_forked(void);
/* The program, or the forked child, begins now. */
void segment_program_begins(void);
/* The process ends, or its image is replaced; and it was not. */
void segment_ends(bool gives_back);
void segment_goes_on(void);

#endif
