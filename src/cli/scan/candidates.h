/* SPDX-License-Identifier: MIT
 *
 * The candidates: sockets on which a dump has found held data.  They are watched, all at once or
 * in turns.  No system call and no clock.
 */
#ifndef UNSTALL_SCAN_CANDIDATES_H
#define UNSTALL_SCAN_CANDIDATES_H

#include "estimate.h"
#include "judge.h"

struct scan_candidate {
    struct scan_key key;
    struct scan_judge judge;
    struct scan_found span;        /* since its last discovery (estimate.h) */
    struct scan_estimate finished; /* of earlier spans */
    uint64_t discovered_ns;        /* the beginning of the span */
    uint64_t held_watched_ns;      /* watched time of the span until the last hold */
    uint64_t inode, peer_inode;
    uint32_t uid;
    bool active;      /* watched, or waiting for its turn */
    bool peer_sought; /* the other end has been looked for */
    bool dropped;     /* scan_candidates_forget() is to free it */
};

struct scan_candidates {
    struct scan_candidate **list;
    size_t count;
    void *by_cookie; /* the same candidates as a tree of tsearch(3) */
    size_t turn;     /* index in `list` at which the next turn begins */
};

/* True if the socket is an active candidate. */
bool scan_candidate_known(const struct scan_candidates *c, const struct scan_key *key);

/* Adds a socket on which a dump found a hold, or makes it active again.  The dump before was gap_ns
 * ago.  NULL: no memory. */
struct scan_candidate *scan_candidate_discovered(struct scan_candidates *c,
                                                 const struct scan_key *key,
                                                 const struct scan_sample *s, uint64_t gap_ns);

/* Takes the next sample of it.  True: a stall has ended. */
bool scan_candidate_sampled(struct scan_candidate *c, const struct scan_sample *s);

/* Ends the span: the candidate is not active until a dump discovers it again. */
void scan_candidate_rest(struct scan_candidate *c);

/* True if it was watched for 2.5 s without a hold. */
bool scan_candidate_is_idle(const struct scan_candidate *c);

/* True if its samples have shown enough holds, and none of them is a stall to report. */
bool scan_candidate_is_cleared(const struct scan_candidate *c);

/* Chooses the candidates of the next turn, at most `room`, one after the other.  Returns their number. */
size_t scan_candidates_turn(struct scan_candidates *c, struct scan_candidate *chosen[],
                            size_t room);

/* Drops the candidates with these keys, and those that have nothing to report and whose last sample is
 * older than before_ns. */
void scan_candidates_forget(struct scan_candidates *c, const struct scan_key *keys, size_t count,
                            uint64_t before_ns);

/* The estimate for all its spans so far. */
struct scan_estimate scan_candidate_estimate(const struct scan_candidate *c);

void scan_candidates_end(struct scan_candidates *c);

#endif
