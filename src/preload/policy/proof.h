/* SPDX-License-Identifier: MIT
 *
 * Proof of a stall from two looks at TCP_INFO.  Pure.
 *
 * The first look is made just after a small write that follows another in its
 * message: are bytes being held, and by what?  The second at the next input, at
 * the end, or at a later write: `tcpi_last_data_sent` says to a jiffy when the
 * last bytes left, and `tcpi_data_segs_out` whether these were the held ones: one
 * segment more, and nothing else was sent since.  That holds on a server too,
 * whatever time passes until the next request (docs/kernel.md, "Proof").
 */
#ifndef UNSTALL_PROOF_H
#define UNSTALL_PROOF_H

#include "base.h"
#include "kernel.h"

enum {
    /* Held for less beyond a round trip is no stall: half of the shortest delayed
     * acknowledgement (40 ms), and more than the jiffy (1 to 10 ms) and the
     * scheduler put in doubt. */
    PROOF_LEAST_MS = 20,
    /* What pacing would have kept back may be the n-th part of the time held. */
    PROOF_PACING_SHARE = 4,
};

#define PROOF_LEAST_NS (PROOF_LEAST_MS * UINT64_C(1000000))

/* The first look: does the kernel hold bytes for no other reason than Nagle's?
 * 0 < not sent < MSS, bytes in flight, room in the congestion and in the peer's
 * window.  (That TCP_NODELAY and TCP_CORK are off is policy's knowledge.) */
bool proof_held(const struct kernel_tcp_info *now);

/* What happened around the two looks; ns of CLOCK_MONOTONIC. */
struct proof_times {
    uint64_t written;      /* the write after which the first look found bytes held */
    uint64_t last_written; /* the last write before the second look: that one, or a later one */
    uint64_t looked;       /* the second look */
};

enum proof_kind {
    PROOF_NONE,      /* not held, or not for long */
    PROOF_PROVED,    /* held for `ns`, +- a jiffy */
    PROOF_BOUND,     /* held, for at most `ns`: other segments left since */
    PROOF_SUSPECTED, /* held for `ns`, but pacing, a loss or MPTCP may be the cause */
};

struct proof {
    enum proof_kind kind;
    uint64_t ns;
};

/* What else is known of the message. */
struct proof_facts {
    uint64_t written; /* bytes that we saw written between the two looks */
    bool mptcp;       /* what the numbers say is not about one TCP connection */
};

struct proof proof_of(const struct kernel_tcp_info *first, const struct kernel_tcp_info *second,
                      const struct proof_times *times, const struct proof_facts *facts);

#endif
