/* SPDX-License-Identifier: MIT */
#include "stalls.h"

/* ---- ours ------------------------------------------------------------- */

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
    if (left == 0 && (second->bytes_queued == 0 || second->ended))
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

/* ---- the peer's ---------------------------------------------------------- */

#define MS UINT64_C(1000000)

enum { UNPROVED_MOST = 4 }; /* looks without a result, before we stop looking */

static bool looks_like_one(const struct quickack *q, uint64_t gap) {
    return gap >= PEER_STALL_LEAST_MS * MS &&
           gap <= PEER_STALL_MOST_MS * MS + q->rtt_us * UINT64_C(1000);
}

static bool believed(const struct quickack *q) {
    return q->repeats >= PEER_STALL_REPEATS;
}

static bool wanted(const struct quickack *q, enum quickack_use use) {
    return !q->hands_off && (use == QUICKACK_ALWAYS || (use == QUICKACK_AUTO && believed(q) &&
                                                        q->useless < QUICKACK_USELESS));
}

struct quickack_action quickack_input(struct quickack *q, enum quickack_use use, uint64_t now) {
    struct quickack_action action = {0};
    bool first = q->reads == 0;
    uint64_t gap = first ? 0 : now - q->input_at;
    q->input_at = now;
    if (gap >= PEER_STALL_LEAST_MS * MS) {
        if (q->gaps != UINT8_MAX)
            q->gaps++;
        action.look = q->gaps == 1 && looks_like_one(q, gap) && q->unproved < UNPROVED_MOST;
        if (action.look) {
            q->gap = gap;
            q->before = q->reads;
        }
    }
    if (q->set && gap > q->longest)
        q->longest = gap;
    if (q->reads != UINT16_MAX)
        q->reads++;
    action.set = wanted(q, use) && (first || gap >= QUICKACK_APART_NS);
    q->set |= action.set;
    return action;
}

void quickack_arrived(struct quickack *q, uint32_t ago_ms, uint32_t rtt_us) {
    uint64_t ago = ago_ms * MS;
    q->rtt_us = rtt_us;
    q->gap = ago < q->gap ? q->gap - ago : 0;
    if (looks_like_one(q, q->gap))
        return;
    q->gap = 0; /* the input had waited in our own receive queue */
    q->unproved++;
}

struct quickack_found quickack_write(struct quickack *q) {
    struct quickack_found found = {0};
    bool message = q->gaps <= PEER_STALL_GAPS;
    if (message && q->gap) {
        if (believed(q)) {
            found = (struct quickack_found){1, q->gap, 0};
        } else if (++q->repeats == PEER_STALL_REPEATS) { /* the earlier stalls count too */
            found = (struct quickack_found){PEER_STALL_REPEATS, q->usual + q->gap, 0};
        }
        q->usual = q->gap;
        if (q->set && q->useless < UINT8_MAX)
            q->useless++;
    } else if (message && q->gaps == 0 && q->set && believed(q) && q->reads > q->before &&
               q->longest < q->usual) {
        found.saved_ns = q->usual - q->longest;
        q->useless = 0;
    }
    q->gap = q->longest = 0;
    q->reads = 0;
    q->gaps = 0;
    q->set = false;
    return found;
}
