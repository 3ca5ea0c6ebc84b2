/* SPDX-License-Identifier: MIT
 *
 * The sockets that a dump has shown to be held: they are watched closely, all of them or in
 * turns.  No system call and no clock.
 */
#ifndef UNSTALL_SCAN_CANDIDATES_H
#define UNSTALL_SCAN_CANDIDATES_H

#include <stddef.h>

#include "estimate.h"
#include "judge.h"

struct scan_candidate {
    struct scan_key key;
    struct scan_judge judge;
    struct scan_found span;        /* since it was discovered last */
    struct scan_estimate finished; /* spans before */
    uint64_t discovered_ns;        /* the beginning of the span */
    uint64_t held_watched_ns;      /* time watched in it until the last hold */
    uint64_t inode, cgroup, peer_inode;
    uint32_t uid;
    bool active; /* watched, or waiting for its turn */
    bool peer_sought;
    bool dropped; /* goes in scan_candidates_forget() */
};

struct scan_candidates {
    struct scan_candidate **list;
    size_t count, room;
    void *by_cookie; /* a tree of tsearch(3) over the same */
    size_t turn;     /* where the next turn begins */
};

/* Is it watched, or about to be? */
bool scan_candidate_known(const struct scan_candidates *c, const struct scan_key *key);

/* A dump showed a hold; the dump before was gap_ns ago.  NULL: no memory. */
struct scan_candidate *scan_candidate_discovered(struct scan_candidates *c,
                                                 const struct scan_key *key,
                                                 const struct scan_sample *s, uint64_t gap_ns);

/* The next sample of it.  True: a stall has ended. */
bool scan_candidate_sampled(struct scan_candidate *c, const struct scan_sample *s);

/* It is not there any more, or was watched for so long without a hold that it is not worth a
 * place. */
void scan_candidate_rest(struct scan_candidate *c);
bool scan_candidate_is_idle(const struct scan_candidate *c);

/* Was enough seen of it to know that its holds are no stalls? */
bool scan_candidate_is_cleared(const struct scan_candidate *c);

/* Those that are watched for the next while, at most `room`.  Returns their number. */
size_t scan_candidates_turn(struct scan_candidates *c, struct scan_candidate *chosen[],
                            size_t room);

/* Drop these, and those that have nothing to report and were looked at last before before_ns. */
void scan_candidates_forget(struct scan_candidates *c, const struct scan_key *keys, size_t count,
                            uint64_t before_ns);

/* What is known of its stalls now. */
struct scan_estimate scan_candidate_estimate(const struct scan_candidate *c);

void scan_candidates_end(struct scan_candidates *c);

#endif
