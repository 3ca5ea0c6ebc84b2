/* SPDX-License-Identifier: MIT */
#include "proof.h"

static uint64_t flying(const struct kernel_tcp_info *now) {
    return now->bytes_sent > now->bytes_acked ? now->bytes_sent - now->bytes_acked : 0;
}

bool proof_held(const struct kernel_tcp_info *now) {
    /* + 1: on the connecting side the SYN counts as an acknowledged byte */
    return now->bytes_queued > 0 && now->bytes_queued < now->mss && now->unacked > 0 &&
           now->unacked < now->cwnd && flying(now) + 1 + now->bytes_queued <= now->window;
}

/* The time at which the last bytes left, computed from the second look. */
static uint64_t release(const struct kernel_tcp_info *second, const struct proof_times *times) {
    uint64_t ago = second->last_sent_ms * UINT64_C(1000000);
    if (ago >= times->looked - times->written)
        return times->written;
    return times->looked - ago;
}

/* The delay that pacing, at the slower of the two rates, causes for the queued bytes. */
static uint64_t paced_ns(const struct kernel_tcp_info *first,
                         const struct kernel_tcp_info *second) {
    uint64_t rate =
        first->pacing_rate < second->pacing_rate ? first->pacing_rate : second->pacing_rate;
    return rate ? (flying(first) + first->bytes_queued) * UINT64_C(1000000000) / rate : 0;
}

/* Bytes were written that we did not see, at an unknown time. */
static bool written_unseen(const struct kernel_tcp_info *first,
                           const struct kernel_tcp_info *second, uint64_t written) {
    uint64_t before = first->bytes_sent + first->bytes_queued;
    return second->bytes_sent + second->bytes_queued != before + written;
}

struct proof proof_of(const struct kernel_tcp_info *first, const struct kernel_tcp_info *second,
                      const struct proof_times *times, uint64_t written, bool mptcp) {
    uint32_t left = second->segments_out - first->segments_out;
    bool exact = left <= 1;
    if (left == 0 && second->bytes_queued == 0)
        return (struct proof){PROOF_NONE, 0}; /* the connection ended and dropped them */
    if (!exact && written_unseen(first, second, written))
        return (struct proof){PROOF_NONE, 0};
    /* left == 0: the kernel still holds the bytes */
    uint64_t until = left == 0 ? times->looked : release(second, times);
    uint64_t longest = until - times->written;
    uint64_t surely = until > times->last_written ? until - times->last_written : 0;
    uint64_t held = exact ? longest : surely;
    if (held < PROOF_LEAST_NS + second->rtt_least_us * UINT64_C(1000))
        return (struct proof){PROOF_NONE, 0};
    if (mptcp || second->retransmissions != first->retransmissions ||
        paced_ns(first, second) > held / PROOF_PACING_SHARE)
        return (struct proof){PROOF_SUSPECTED, longest};
    return (struct proof){exact ? PROOF_PROVED : PROOF_BOUND, longest};
}
