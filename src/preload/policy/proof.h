/* SPDX-License-Identifier: MIT
 *
 * Proof of a stall from two looks at TCP_INFO.  Pure.
 *
 * docs/design.md, "Evidence", says when the looks come.  `tcpi_last_data_sent` gives, to a jiffy, the time at
 * which the last bytes left.  `tcpi_data_segs_out` tells whether these were the held bytes: it has then grown
 * by exactly one (docs/kernel.md, "Proof that Nagle is holding bytes").
 */
#ifndef UNSTALL_PROOF_H
#define UNSTALL_PROOF_H

#include "base.h"
#include "kernel.h"
#include "late.h"

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

#endif
