/* SPDX-License-Identifier: MIT
 *
 * The writer of the statistics file (UNSTALL_STATS): the file, its rows and
 * its records.  The format is ../stats_file/stats_format.h.
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
#include "stats_format.h"
#include "stats_file.h"

extern uint32_t stats_state; /* enum stats_file_life */

enum stats_file_life { LIFE_NONE, LIFE_MAKING, LIFE_THERE, LIFE_REFUSED };

void stats_file_make(void);

/* Wanted, and neither there nor refused (but perhaps being made)? */
static inline bool stats_file_wanted(void) {
    return UNLIKELY(config()->stats != NULL) && LOAD(&stats_state) <= LIFE_MAKING &&
           !config()->no_syscalls;
}

/* The process meets TCP.  Not under a connection's lock; keeps errno. */
static inline void stats_meets_tcp(void) {
    if (stats_file_wanted())
        stats_file_make();
}

/* The row of an endpoint; 0, `other`, where all are taken. */
uint32_t stats_row(const struct stats_row *wanted);

/* A record, being written: the caller fills it in and says stats_valid().
 * EVIDENCE_NONE: all belong to living connections. */
uint32_t stats_record(void);
void stats_valid(uint32_t *state);
/* Its connection has ended: the record may be given to another. */
void stats_record_ended(uint32_t record);

static inline void stats_add_at(struct stats_file *s, uint32_t row, enum stats_counter what,
                                  uint64_t n) {
    uint64_t *counter = &s->shard[row][thread_tag() % STATS_SHARDS].counter[what];
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Count for a connection: into its row, or `other` as long as it has none.
 * Lock held. */
static inline void stats_add(const struct evidence *e, enum stats_counter what, uint64_t n) {
    struct stats_file *s = stats_file_now();
    if (s)
        stats_add_at(s, e->row == EVIDENCE_NONE ? 0 : e->row, what, n);
}

/* Has this process, or one that it was forked from, ever had one? */
bool stats_in_family(void);
/* In the child of a fork. */
void stats_file_forked(void);
/* The program, or the forked child, begins now. */
void stats_file_program_begins(void);
/* The process ends, or its image is replaced; and it was not. */
void stats_file_ends(bool gives_back);
void stats_file_goes_on(void);

#endif
