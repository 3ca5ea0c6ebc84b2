/* SPDX-License-Identifier: MIT
 *
 * The other side's stall, seen from the side that receives: the rest of a
 * message comes one delayed acknowledgement (ours) after its beginning.  Pure.
 *
 * A message of the peer is the run of inputs between two writes of ours, however
 * many reads it is taken in.  Where it has one gap of about 40 ms, and again so in
 * a later message, the peer waits for our acknowledgement.  A stream, whose pieces
 * keep coming at such a distance, is no message and is left out.
 */
#ifndef UNSTALL_QUICKACK_H
#define UNSTALL_QUICKACK_H

#include "base.h"

enum quickack_use { QUICKACK_OFF, QUICKACK_AUTO, QUICKACK_ALWAYS };

enum {
    PEER_STALL_LEAST_MS = 30, /* 40 ms, less what the beginning waited until it was read */
    PEER_STALL_MOST_MS = 60,
    PEER_STALL_REPEATS = 2,  /* so often before it is believed, and acted on */
    PEER_STALL_GAPS = 2,     /* a message with more gaps is a stream */
    QUICKACK_USELESS = 4,    /* stalls in spite of it: the acknowledgement is not the reason */
    QUICKACK_APART_NS = 5000 /* reads closer together take what had arrived together */
};

struct quickack {
    uint64_t input_at; /* the last one, ns */
    uint64_t gap;      /* in this message, if it looks like a stall */
    uint64_t longest;  /* gap in this message since TCP_QUICKACK was set in it */
    uint64_t usual;    /* of the last stall */
    uint32_t rtt_us;   /* the least round trip, where it is known */
    uint16_t reads;    /* inputs since the last write */
    uint16_t before;   /* reads before the gap, in the last stall */
    uint8_t gaps;      /* long ones in this message */
    uint8_t repeats;   /* messages that stalled */
    uint8_t useless;   /* ... though TCP_QUICKACK was set before the gap */
    uint8_t unproved;  /* looked like one, and TCP_INFO said otherwise */
    bool set;          /* TCP_QUICKACK was set in this message */
    bool hands_off;    /* the application sets TCP_QUICKACK itself */
};

/* What an input asks for. */
struct quickack_action {
    bool look; /* ask TCP_INFO when the input arrived, and say quickack_arrived() */
    bool set;  /* set TCP_QUICKACK now */
};

struct quickack_action quickack_input(struct quickack *q, enum quickack_use use, uint64_t now);

/* The part just read had come in `ago_ms` before, the least round trip is `rtt_us`. */
void quickack_arrived(struct quickack *q, uint32_t ago_ms, uint32_t rtt_us);

/* A write ends the peer's message.  What is now known of it: stalls (none, one, or
 * with the one that makes it believed those before it), time lost, time saved. */
struct quickack_found {
    uint32_t stalls;
    uint64_t stall_ns, saved_ns;
};

struct quickack_found quickack_write(struct quickack *q);

#endif
