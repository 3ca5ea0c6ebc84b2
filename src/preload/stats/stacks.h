/* SPDX-License-Identifier: MIT
 *
 * The call stacks of stalls.  A pattern is a pair of call sites in the program: of the
 * first and of the second write of a message.  The statistics file counts each pattern and
 * keeps, for its first four occurrences, the registers and at most 24 KiB of stack of both
 * writes.  The command unwinds them: doing it here would need malloc, locks and libgcc_s.
 * The frames of this library come first; the reader drops them.
 *
 * Privacy: a stack may hold secrets of the program.  Stacks are kept only with a statistics
 * file (UNSTALL_STATS), and not with UNSTALL_STACKS=0.
 *
 * Cost: the first write of a message is copied before a second one is certain: 4 to 9 µs.
 * So a call site that has begun IDLE_MOST messages without a second write is not sampled
 * until one occurs, and a site with complete patterns is never sampled again.
 *
 * Locking: one lock for all tables, taken under a connection's lock by trylock only.  A
 * thread that does not get it keeps no stack this time.
 */
#ifndef UNSTALL_STACKS_H
#define UNSTALL_STACKS_H

#include "base.h"
#include "stats_format.h"

struct evidence;
struct evidence_write;

/* A write behind which another one may be held. */
struct stacks_piece {
    uintptr_t caller; /* return address of its call; 0: not known */
    uint32_t kept;    /* index of its stack; EVIDENCE_NONE: not kept */
};

/* The first write of a message, or a later one behind which the next message may be held. */
struct stacks_piece stacks_keep(const struct evidence *e, const struct evidence_write *w);
/* The small write `w` after `first`, with a suspected or cured stall. */
void stacks_pair(struct evidence *e, const struct stacks_piece *first, const struct evidence_write *w);
/* The message of e has stalled. */
void stacks_stalled(const struct evidence *e, uint64_t ns);

/* In the child of a fork, which has another statistics file. */
void stacks_forked(void);

/* ---- the snapshot: no function faults, allocates or locks ------------- */

/* Copies the registers and the stack of this thread, inside the exported call that it made. */
void stack_snapshot(struct stats_write *to, const struct evidence_write *w);

/* Copies up to `bytes` from an address that may be unreadable.  Returns the number copied. */
size_t snapshot_peek(void *to, uintptr_t from, size_t bytes);

/* ---- the modules -------------------------------------------------------- */

/* Adds to the statistics file, for an unwinder that runs after the process has ended, the executable mappings
 * that it lacks, with the identity of their files.  The source is /proc/self/maps: dl_iterate_phdr(3) would
 * take a lock.  One thread at a time. */
void modules_note(struct stats_file *s);

/* One line of /proc/PID/maps. */
struct modules_line {
    uint64_t start, end, offset;
    bool executable;
    const char *path; /* to the end of the line; "" for none */
    size_t path_bytes;
};

bool modules_parse(const char *line, size_t bytes, struct modules_line *out);

#endif
