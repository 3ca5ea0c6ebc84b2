/* SPDX-License-Identifier: MIT
 *
 * Judges a stall: ours, proved by two looks at TCP_INFO, and the peer's, seen by its receiver.  Pure.
 * docs/design.md, "Evidence", says when the looks come and which gaps count.
 */
#ifndef UNSTALL_STALLS_H
#define UNSTALL_STALLS_H

#include "kernel.h"
#include "late.h"

/* ---- ours ---------------------------------------------------------------
 *
 * The time at which the last bytes left, to a jiffy, and the count of segments, which has grown by exactly
 * one if these were the held bytes (docs/kernel.md, "Proof that Nagle is holding bytes"). */

enum {
    PROOF_LEAST_MS = LATE_IN_LIBRARY_MS, /* the shortest stall, beyond one round trip */
    /* Pacing may explain at most the n-th part of the time held. */
    PROOF_PACING_SHARE = 4,
};

#define PROOF_LEAST_NS (PROOF_LEAST_MS * UINT64_C(1000000))

/* The first look.  True if Nagle is the only reason for which the kernel holds bytes:
 * 0 < unsent bytes < MSS, bytes in flight, room in the congestion window and in the
 * peer's window.  Policy knows that TCP_NODELAY and TCP_CORK are off. */
bool proof_held(const struct kernel_tcp_info *now);

/* Times around the two looks; ns of CLOCK_MONOTONIC. */
struct proof_times {
    uint64_t written;      /* the write after which the first look found bytes held */
    uint64_t last_written; /* the last write before the second look: `written`, or a later one */
    uint64_t looked;       /* the second look */
};

enum proof_kind {
    PROOF_NONE,      /* not held, or shorter than PROOF_LEAST_MS */
    PROOF_PROVED,    /* held for `ns`, +- a jiffy */
    PROOF_BOUND,     /* held for at most `ns`: more segments have left since */
    PROOF_SUSPECTED, /* held for `ns`, but pacing, a loss or MPTCP may be the cause */
};

struct proof {
    enum proof_kind kind;
    uint64_t ns;
};

/* `written`: bytes that we saw written between the two looks.  `mptcp`: TCP_INFO describes only one of
 * several TCP connections. */
struct proof proof_of(const struct kernel_tcp_info *first, const struct kernel_tcp_info *second,
                      const struct proof_times *times, uint64_t written, bool mptcp);

/* ---- the peer's -----------------------------------------------------------
 *
 * The rest of a message arrives one delayed acknowledgement (ours) after its beginning.  A message of the
 * peer is all input between two writes of ours, in any number of reads. */

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
