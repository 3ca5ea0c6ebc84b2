/* SPDX-License-Identifier: MIT
 *
 * A stall of the peer, seen by the receiver: the rest of a message arrives one delayed
 * acknowledgement (ours) after its beginning.  Pure.
 *
 * A message of the peer is all input between two writes of ours, in any number of reads.
 * docs/design.md, "Evidence", says which of its gaps count.
 */
#ifndef UNSTALL_QUICKACK_H
#define UNSTALL_QUICKACK_H

#include "base.h"
#include "late.h"

enum quickack_use { QUICKACK_OFF, QUICKACK_AUTO, QUICKACK_ALWAYS };

enum {
    PEER_STALL_LEAST_MS = LATE_SHORTEST_MS,
    PEER_STALL_MOST_MS = 60,
    PEER_STALL_REPEATS = 2,  /* stalls before we believe and act */
    PEER_STALL_GAPS = 2,     /* a message with more gaps is a stream */
    QUICKACK_USELESS = 4,    /* stalls despite TCP_QUICKACK: the acknowledgement is not the cause */
    QUICKACK_APART_NS = 5000 /* reads closer together take input that arrived together */
};

struct quickack {
    uint64_t input_at; /* the last one, ns */
    uint64_t gap;      /* in this message, if it looks like a stall */
    uint64_t longest;  /* gap in this message since TCP_QUICKACK was set in it */
    uint64_t usual;    /* gap of the last stall */
    uint32_t rtt_us;   /* the shortest round trip, if known */
    uint16_t reads;    /* inputs since the last write */
    uint16_t before;   /* reads before the gap, in the last stall */
    uint8_t gaps;      /* long ones in this message */
    uint8_t repeats;   /* messages that stalled */
    uint8_t useless;   /* ... although TCP_QUICKACK was set before the gap */
    uint8_t unproved;  /* gaps that TCP_INFO showed to be no stalls */
    bool set;          /* TCP_QUICKACK was set in this message */
    bool hands_off;    /* the application sets TCP_QUICKACK itself */
};

/* The steps that an input asks for. */
struct quickack_action {
    bool look; /* read the time of arrival from TCP_INFO and call quickack_arrived() */
    bool set;  /* set TCP_QUICKACK now */
};

struct quickack_action quickack_input(struct quickack *q, enum quickack_use use, uint64_t now);

/* The bytes just read had arrived `ago_ms` before; the shortest round trip is `rtt_us`. */
void quickack_arrived(struct quickack *q, uint32_t ago_ms, uint32_t rtt_us);

/* A write ends the peer's message.  Returns its stalls, the time lost and the time saved.
 * The stall that reaches PEER_STALL_REPEATS also returns the stalls before it. */
struct quickack_found {
    uint32_t stalls;
    uint64_t stall_ns, saved_ns;
};

struct quickack_found quickack_write(struct quickack *q);

#endif
