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
 * Fork: the child keeps its copy; conn_repaired() makes it point nowhere,
 * because the child's segment is another.
 */
#ifndef UNSTALL_EVIDENCE_H
#define UNSTALL_EVIDENCE_H

#include "config.h"
#include "conn.h"
#include "proof.h"
#include "quickack.h"
#include "stats_format.h"

#define EVIDENCE_NONE UINT32_MAX
enum { NO_ARM = 0xff, EVIDENCE_COUNTERS = COUNT_QUICKACK_SAVED_NS - COUNT_SUSPECTS + 1 };

struct evidence {
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
    uint8_t role;         /* enum stats_role; a forked child's is its parent's */
    bool wrote;           /* it has written at all */
    bool untracked_told;
    bool ended;
    bool ends_known;
    struct stats_address peer, local; /* if ends_known */
    uint8_t since_moved;                /* writes since the counts were last moved to the segment */
    uint32_t small_writes;              /* all that were counted as small */
    uint32_t small_told;                /* ... of them those that are in the segment */
    struct conn_counts told;            /* of c->counts, what is in the segment already */
    uint64_t before_us;                 /* bytes sent when it was first seen, of a foreign one */
    uint32_t alone_since;               /* the doubt epoch: another one means that it was shared */
    /* ---- written by evidence.c ---- */
    /* Since the connection began, in the order of the segment: found[COUNT_x - COUNT_SUSPECTS]. */
    uint64_t found[EVIDENCE_COUNTERS];
    uint64_t told_found[EVIDENCE_COUNTERS]; /* what of it is in the segment already (tally.c) */
    struct kernel_tcp_info first_look;      /* at TCP_INFO, after the suspect write */
    uint64_t wrote_at;                      /* the last write, in observe */
    struct proof_times times;
    uint64_t bytes_at_look;
    bool suspect;         /* bytes were held when it was looked; the stall is not settled yet */
    bool looked;          /* TCP_INFO was asked in this message */
    bool cured;           /* this message was counted as cured */
    uint8_t suspicion;    /* suspicious writes in this message */
    uint8_t look_at;      /* after how many of them to look: where bytes were held before */
    uint8_t look_next;    /* ... in the next message */
    uint32_t first_write; /* where the stack of this message's first write is kept (stacks.c) */
    uint32_t pattern;     /* of this message, in the segment; EVIDENCE_NONE: none */
    uintptr_t caller;     /* return address of the first write of this message; 0: not known */
    struct quickack quickack;
};

/* Does this configuration want it at all? */
static inline bool evidence_wanted(const struct config *c) {
    return c->stats != NULL || c->arms.count > 0 || c->mode == MODE_OBSERVE ||
           c->quickack != QUICKACK_OFF;
}

/* Give c its evidence, if the configuration wants it and it has none.  Lock
 * held.  False: it has none (not wanted, or no memory). */
bool evidence_begin(struct conn *c);

/* Back to the pool.  Lock held. */
void evidence_free(struct conn *c);

/* ---- what is found (evidence.c); lock held, for all of these ---------- */

/* A write of c, in whichever way it was made. */
struct evidence_write {
    int fd;
    uint64_t bytes;
    uintptr_t caller; /* return address of the exported call; 0: not known */
};

void evidence_writes_slow(struct conn *c);
void evidence_wrote_slow(struct conn *c, const struct policy_action *action,
                         const struct evidence_write *w);
void evidence_input_slow(struct conn *c);
void evidence_ends_slow(struct conn *c, int fd);

/* Before a write is made. */
static inline void evidence_writes(struct conn *c) {
    if (UNLIKELY(c->evidence != NULL) && c->evidence->suspect)
        evidence_writes_slow(c);
}

/* Policy has decided about a write: in a mode that cures before it is made and acted
 * on, in the others after it. */
static inline void evidence_wrote(struct conn *c, const struct policy_action *action,
                                  const struct evidence_write *w) {
    if (UNLIKELY(c->evidence != NULL))
        evidence_wrote_slow(c, action, w);
}

/* Input has come, before policy and tally hear of it. */
static inline void evidence_input(struct conn *c) {
    if (UNLIKELY(c->evidence != NULL))
        evidence_input_slow(c);
}

/* Nothing more will be written: the peer has closed (a read gave 0), or the
 * application is about to close `fd`, the last descriptor. */
static inline void evidence_ends(struct conn *c, int fd) {
    if (UNLIKELY(c->evidence != NULL) && c->evidence->suspect)
        evidence_ends_slow(c, fd);
}

#endif
