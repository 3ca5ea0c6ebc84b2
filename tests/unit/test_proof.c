/* SPDX-License-Identifier: MIT
 *
 * Whether a stall was one: tuples of TCP_INFO as they were recorded on loopback
 * (Linux 6.18, HZ=250, bbr), and the right conclusion from each.
 */
#include "stalls.h"
#include "unit.h"

#define MS   UINT64_C(1000000)
#define FAST UINT64_C(29240286877) /* bbr's pacing rate on loopback, as recorded */

/* The third exchange of a client: 200 B and 100 B, and it waits for the answer. */
static const struct kernel_tcp_info recorded_first = {
    .bytes_sent = 800,
    .bytes_queued = 100,
    .bytes_acked = 601,
    .segments_out = 5,
    .unacked = 1,
    .pacing_rate = FAST,
    .cwnd = 14,
    .window = 65536,
    .mss = 32768,
    .rtt_least_us = 5,
};

static const struct {
    const char *name;
    struct kernel_tcp_info change; /* fields that are not 0 replace the recorded ones */
    bool none_queued, none_unacked;
    bool held;
} firsts[] = {
    {"as recorded", {0}, .held = true},
    {"everything has left", {0}, .none_queued = true},
    {"nothing is in flight: Nagle lets a small segment go", {0}, .none_unacked = true},
    {"a whole segment waits: not Nagle", {.bytes_queued = 32768}, .held = false},
    {"a byte less than a whole segment", {.bytes_queued = 32767, .window = 1 << 20}, .held = true},
    {"the congestion window is full", {.unacked = 14}, .held = false},
    {"... or has one place left", {.unacked = 13}, .held = true},
    {"the peer's window has room for what flies only", {.window = 200}, .held = false},
    {"... and for one byte too few", {.window = 299}, .held = false},
    {"... and for all", {.window = 300}, .held = true},
    {"a kernel that does not tell the window", {.window = UINT32_MAX}, .held = true},
    {"a server's counts: no SYN among the acknowledged",
     {.bytes_acked = 600, .window = 301},
     .held = true},
};

static struct kernel_tcp_info changed(const struct kernel_tcp_info *change) {
    struct kernel_tcp_info s = recorded_first;
    if (change->bytes_queued)
        s.bytes_queued = change->bytes_queued;
    if (change->unacked)
        s.unacked = change->unacked;
    if (change->window)
        s.window = change->window;
    if (change->bytes_acked)
        s.bytes_acked = change->bytes_acked;
    return s;
}

Test(proof, first_look) {
    EACH_ROW(row, firsts) {
        struct kernel_tcp_info s = changed(&row->change);
        if (row->none_queued)
            s.bytes_queued = 0;
        if (row->none_unacked)
            s.unacked = 0;
        EXPECT_INT(row->name, proof_held(&s), row->held);
    }
}

static const struct {
    const char *name;
    uint64_t waited,
        last_written;  /* ms from the suspect write to the second look, to the last write */
    uint32_t ago;      /* tcpi_last_data_sent */
    uint32_t segments; /* that left since */
    uint32_t queued;
    uint32_t again; /* retransmissions since */
    uint64_t rate;
    uint32_t rtt_us;
    bool mptcp;
    enum proof_kind kind;
    uint64_t ms;
} rows[] = {
    /* name; waited, last, ago, segments, queued, again, rate, rtt, mptcp; verdict */
    {"a client, as recorded", 44, 0, 0, 1, 0, 0, FAST, 5, false, PROOF_PROVED, 44},
    {"the server thought for 24 ms", 68, 0, 24, 1, 0, 0, FAST, 5, false, PROOF_PROVED, 44},
    {"a server, the next request after 30 ms", 72, 0, 28, 1, 0, 0, FAST, 9, false, PROOF_PROVED,
     44},
    {"... or after a minute", 60044, 0, 60000, 1, 0, 0, FAST, 9, false, PROOF_PROVED, 44},
    {"released at once, the answer late", 50, 0, 48, 1, 0, 0, FAST, 5, false, PROOF_NONE, 0},
    {"the jiffy that hides a negative time", 50, 0, 52, 1, 0, 0, FAST, 5, false, PROOF_NONE, 0},
    {"held for 16 ms", 16, 0, 0, 1, 0, 0, FAST, 5, false, PROOF_NONE, 0},
    {"held for a round trip of 100 ms", 112, 0, 0, 1, 0, 0, FAST, 100000, false, PROOF_NONE, 0},
    {"... and a delayed acknowledgement", 143, 0, 0, 1, 0, 0, FAST, 100000, false, PROOF_PROVED,
     143},
    {"nothing left and nothing is queued: reset", 44, 0, 44, 0, 0, 0, FAST, 5, false, PROOF_NONE,
     0},
    {"still held at the end", 30, 0, 30, 0, 100, 0, FAST, 5, false, PROOF_PROVED, 30},
    {"still held, but not for long", 5, 0, 4, 0, 100, 0, FAST, 5, false, PROOF_NONE, 0},
    {"a write soon after, held too, one segment", 44, 3, 0, 1, 0, 0, FAST, 5, false, PROOF_PROVED,
     44},
    {"two segments, both after a long hold", 60, 3, 10, 2, 0, 0, FAST, 5, false, PROOF_BOUND, 50},
    {"two segments, the second as it was written", 60, 40, 20, 2, 0, 0, FAST, 5, false, PROOF_NONE,
     0},
    {"two segments, ... and held itself", 90, 15, 20, 2, 0, 0, FAST, 5, false, PROOF_BOUND, 70},
    {"the first segment was lost", 240, 0, 0, 2, 0, 1, FAST, 5, false, PROOF_SUSPECTED, 240},
    {"pacing of 5000 B/s: 300 B take 60 ms", 60, 0, 0, 1, 0, 0, 5000, 5, false, PROOF_SUSPECTED,
     60},
    {"a pace at which they take 10 ms", 44, 0, 0, 1, 0, 0, 30000, 5, false, PROOF_PROVED, 44},
    {"no pacing", 44, 0, 0, 1, 0, 0, 0, 5, false, PROOF_PROVED, 44},
    {"no pacing, told as all ones", 44, 0, 0, 1, 0, 0, UINT64_MAX, 5, false, PROOF_PROVED, 44},
    {"MPTCP", 44, 0, 0, 1, 0, 0, FAST, 5, true, PROOF_SUSPECTED, 44},
};

Test(proof, second_look) {
    EACH_ROW(row, rows) {
        struct kernel_tcp_info first = recorded_first, second = recorded_first;
        uint64_t began = 1000 * MS;
        struct proof_times times = {began, began + row->last_written * MS,
                                    began + row->waited * MS};
        first.pacing_rate = row->rate;
        second.pacing_rate = FAST;
        second.segments_out += row->segments;
        second.retransmissions = row->again;
        second.last_sent_ms = row->ago;
        second.rtt_least_us = row->rtt_us;
        uint64_t left = row->segments ? 100 : 0, later = row->last_written ? 200 : 0;
        second.bytes_sent += left + later;
        second.bytes_queued = row->queued;
        struct proof proof = proof_of(&first, &second, &times, later, row->mptcp);
        EXPECT_INT(row->name, proof.kind, row->kind);
        EXPECT_INT(row->name, proof.ns, row->ms * MS);
    }
}

/* Something else writes there too: when it did is not known, so nothing is claimed, unless one
 * segment is all that has left. */
Test(proof, writes_that_were_not_seen) {
    struct kernel_tcp_info second = recorded_first;
    struct proof_times times = {1000 * MS, 1000 * MS, 1060 * MS};
    second.bytes_queued = 0;
    second.bytes_sent += 150;
    second.segments_out += 2;
    EXPECT_INT("two segments", proof_of(&recorded_first, &second, &times, 0, false).kind, PROOF_NONE);
    second.segments_out -= 1;
    EXPECT_INT("one", proof_of(&recorded_first, &second, &times, 0, false).kind, PROOF_PROVED);
    second.segments_out += 1;
    EXPECT_INT("seen", proof_of(&recorded_first, &second, &times, 50, false).kind, PROOF_BOUND);
}
