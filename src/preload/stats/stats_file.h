/* SPDX-License-Identifier: MIT
 *
 * The writer of the statistics file (UNSTALL_STATS); its format is src/stats_file/stats_format.h.
 *
 * A page must be reserved before any access, even a read: a fault on a full file system is SIGBUS in the
 * host.  From the start: all up to the shards of row 0, the modules, and the head of each pattern.
 */
#ifndef UNSTALL_STATS_FILE_H
#define UNSTALL_STATS_FILE_H

#include "evidence.h"

extern INTERNAL struct stats_file *stats_file_mapped;

/* The statistics file of this process, or NULL. */
static inline struct stats_file *stats_file_now(void) {
    return LOAD_ACQUIRE(&stats_file_mapped);
}

/* Reserve the pages of this part.  False: no room, or a seccomp filter forbids the call; the
 * caller must not touch them.  Uses MADV_POPULATE_WRITE (Linux 5.14); on older kernels the
 * whole file is reserved when it is made. */
bool stats_file_reserve(const void *part, size_t bytes);

/* ---- rows and records ---------------------------------------------------
 *
 * The file is made when the process first uses TCP, so that a process without TCP, and a fork that only runs
 * another program, cost nothing.  Ownership: the mapping is made once in a process and stays; after fork the
 * child unmaps its copy first and makes its own on demand.  Locking: any thread adds to counters, with
 * relaxed atomics; rows and records are handed out under a short lock of their own.  No function here takes
 * a connection's lock.
 */

extern INTERNAL bool stats_refused; /* no file can be made */

/* The process uses TCP.  Not under a connection's lock; keeps errno. */
void stats_file_make(void);

/* True if the file is wanted, but not there yet and not refused. */
static inline bool stats_file_wanted(void) {
    return UNLIKELY(config()->stats != NULL) && !stats_file_now() && !LOAD(&stats_refused) &&
           !config()->no_syscalls;
}

/* The row of an endpoint; 0, `other`, if all are taken. */
uint32_t stats_row(const struct stats_row *wanted);

/* A new record: the caller fills it in and then releases its state as STATS_VALID.
 * NULL: open connections use all records. */
struct stats_connection *stats_record(void);
/* The connection of the record has ended: it may be used again. */
void stats_record_ended(const struct stats_connection *record);

/* This thread's counters of the connection's row.  Lock held. */
static inline struct stats_shard *stats_shard(struct stats_file *s, const struct evidence *e) {
    return &s->shard[e->row][thread_tag() % STATS_SHARDS];
}

/* Add to one of them.  Lock held. */
static inline void stats_add(const struct evidence *e, enum stats_counter what, uint64_t n) {
    struct stats_file *s = stats_file_now();
    if (s)
        __atomic_fetch_add(&STATS_COUNTER(stats_shard(s, e), what), n, __ATOMIC_RELAXED);
}

/* True if this process, or one that it was forked from, has made a file. */
bool stats_ever_made(void);
/* In the child of a fork. */
void stats_file_forked(void);
/* The program, or the forked child, begins now. */
void stats_file_program_begins(void);
/* The program is about to be replaced, or goes on, because that has failed; or the process ends. */
enum stats_end { STATS_REPLACED, STATS_GOES_ON, STATS_ENDS };
void stats_file_ends(enum stats_end how);

/* ---- live configuration -------------------------------------------------
 *
 * A tool writes the control block of the statistics file; this process adopts it when a message starts, and
 * at each tick of the window's thread.  A bad block, or one that stays unfinished, costs one warning.
 */

extern INTERNAL uint32_t control_seen; /* the last sequence that was looked at */

/* Cheap: true if the block has changed since the last look. */
static inline bool control_changed(void) {
    struct stats_file *s = stats_file_now();
    return s && UNLIKELY(LOAD(&s->control.sequence) != LOAD(&control_seen));
}

/* Read the block and publish its configuration.  True: the configuration has changed.  The caller then sweeps
 * all connections (sweep_told()) and passes `sequence` to control_is_in_force(). */
bool control_look(uint32_t *sequence);
void control_is_in_force(uint32_t sequence);

#endif
