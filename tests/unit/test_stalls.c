/* SPDX-License-Identifier: MIT
 *
 * What is a stall: ours, by two looks at TCP_INFO as they were recorded on loopback (Linux 6.18, HZ=250,
 * bbr), and the other side's, by a run of inputs and writes.
 */
#include "stalls.h"
#include "unit.h"

#define MS   UINT64_C(1000000)
#define FAST UINT64_C(29240286877) /* bbr's pacing rate on loopback, as recorded */

/* ---- ours --------------------------------------------------------------- */

/* The third exchange of a client: 200 B and 100 B, and it waits for the answer. */
static const struct kernel_tcp_info recorded_first = {
    .bytes_sent = 800,   .bytes_queued = 100,   .bytes_acked = 601, .segments_out = 5, .unacked = 1,
    .pacing_rate = FAST, .cwnd = 14,            .window = 65536,    .mss = 32768,      .rtt_least_us = 5,
};

static const struct {
    const char *name;
    uint32_t queued, unacked, window, acked;
    bool held;
} firsts[] = {
    {"as recorded", 100, 1, 65536, 601, true},
    {"everything has left", 0, 1, 65536, 601, false},
    {"nothing is in flight: Nagle lets a small segment go", 100, 0, 65536, 601, false},
    {"a whole segment waits: not Nagle", 32768, 1, 65536, 601, false},
    {"a byte less than a whole segment", 32767, 1, 1 << 20, 601, true},
    {"the congestion window is full", 100, 14, 65536, 601, false},
    {"... or has one place left", 100, 13, 65536, 601, true},
    {"the peer's window has room for what flies only", 100, 1, 200, 601, false},
    {"... and for one byte too few", 100, 1, 299, 601, false},
    {"... and for all", 100, 1, 300, 601, true},
    {"a kernel that does not tell the window", 100, 1, UINT32_MAX, 601, true},
    {"a server's counts: no SYN among the acknowledged", 100, 1, 301, 600, true},
};

Test(stalls, first_look) {
    EACH_ROW(row, firsts) {
        struct kernel_tcp_info s = recorded_first;
        s.bytes_queued = row->queued;
        s.unacked = row->unacked;
        s.window = row->window;
        s.bytes_acked = row->acked;
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
    {"a client, as recorded", 44, 0, 0, 1, 0, 0, FAST, 5, false, PROOF_PROVED, 44},
    {"the server thought for 24 ms", 68, 0, 24, 1, 0, 0, FAST, 5, false, PROOF_PROVED, 44},
    {"a server, the next request after a minute", 60044, 0, 60000, 1, 0, 0, FAST, 9, false, PROOF_PROVED, 44},
    {"released at once, the answer late", 50, 0, 48, 1, 0, 0, FAST, 5, false, PROOF_NONE, 0},
    {"the jiffy that hides a negative time", 50, 0, 52, 1, 0, 0, FAST, 5, false, PROOF_NONE, 0},
    {"held for 16 ms", 16, 0, 0, 1, 0, 0, FAST, 5, false, PROOF_NONE, 0},
    {"held for a round trip of 100 ms", 112, 0, 0, 1, 0, 0, FAST, 100000, false, PROOF_NONE, 0},
    {"... and a delayed acknowledgement", 143, 0, 0, 1, 0, 0, FAST, 100000, false, PROOF_PROVED, 143},
    {"nothing left and nothing is queued: reset", 44, 0, 44, 0, 0, 0, FAST, 5, false, PROOF_NONE, 0},
    {"still held at the end", 30, 0, 30, 0, 100, 0, FAST, 5, false, PROOF_PROVED, 30},
    {"still held, but not for long", 5, 0, 4, 0, 100, 0, FAST, 5, false, PROOF_NONE, 0},
    {"a write soon after, held too, one segment", 44, 3, 0, 1, 0, 0, FAST, 5, false, PROOF_PROVED, 44},
    {"two segments, both after a long hold", 60, 3, 10, 2, 0, 0, FAST, 5, false, PROOF_BOUND, 50},
    {"two segments, the second as it was written", 60, 40, 20, 2, 0, 0, FAST, 5, false, PROOF_NONE, 0},
    {"two segments, ... and held itself", 90, 15, 20, 2, 0, 0, FAST, 5, false, PROOF_BOUND, 70},
    {"the first segment was lost", 240, 0, 0, 2, 0, 1, FAST, 5, false, PROOF_SUSPECTED, 240},
    {"pacing of 5000 B/s: 300 B take 60 ms", 60, 0, 0, 1, 0, 0, 5000, 5, false, PROOF_SUSPECTED, 60},
    {"a pace at which they take 10 ms", 44, 0, 0, 1, 0, 0, 30000, 5, false, PROOF_PROVED, 44},
    {"no pacing", 44, 0, 0, 1, 0, 0, 0, 5, false, PROOF_PROVED, 44},
    {"no pacing, told as all ones", 44, 0, 0, 1, 0, 0, UINT64_MAX, 5, false, PROOF_PROVED, 44},
    {"MPTCP", 44, 0, 0, 1, 0, 0, FAST, 5, true, PROOF_SUSPECTED, 44},
};

Test(stalls, second_look) {
    EACH_ROW(row, rows) {
        struct kernel_tcp_info first = recorded_first, second = recorded_first;
        uint64_t began = 1000 * MS;
        struct proof_times times = {began, began + row->last_written * MS, began + row->waited * MS};
        first.pacing_rate = row->rate;
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

/* The look came at close(2), a minute after the reset, and found a stall of a minute: the kernel goes on
 * telling the bytes that it has dropped. */
Test(stalls, bytes_that_a_reset_has_dropped) {
    struct kernel_tcp_info second = recorded_first;
    struct proof_times times = {1000 * MS, 1000 * MS, 61000 * MS};
    EXPECT_INT("held", proof_of(&recorded_first, &second, &times, 0, false).kind, PROOF_PROVED);
    second.ended = true;
    EXPECT_INT("dropped", proof_of(&recorded_first, &second, &times, 0, false).kind, PROOF_NONE);
    second.segments_out++;
    second.bytes_sent += 100;
    second.last_sent_ms = 59956;
    struct proof proof = proof_of(&recorded_first, &second, &times, 0, false);
    EXPECT_INT("left before the end", proof.kind, PROOF_PROVED);
    EXPECT_INT("... and how long it was held", proof.ns, 44 * MS);
}

/* Something else writes there too: when it did is not known, so nothing is claimed, unless one
 * segment is all that has left. */
Test(stalls, writes_that_were_not_seen) {
    struct kernel_tcp_info second = recorded_first;
    struct proof_times times = {1000 * MS, 1000 * MS, 1060 * MS};
    second.bytes_queued = 0;
    second.bytes_sent += 150;
    second.segments_out += 2;
    EXPECT_INT("two segments", proof_of(&recorded_first, &second, &times, 0, false).kind, PROOF_NONE);
    EXPECT_INT("seen", proof_of(&recorded_first, &second, &times, 50, false).kind, PROOF_BOUND);
    second.segments_out -= 1;
    EXPECT_INT("one", proof_of(&recorded_first, &second, &times, 0, false).kind, PROOF_PROVED);
}

/* ---- the other side's --------------------------------------------------- */

struct result {
    unsigned stalls, looks, sets, lost_ms, saved_ms;
};

/* A run: `r` an input, `w` a write of ours, a number the milliseconds that pass; each input that is looked at
 * had just arrived, unless `l` (late: it had waited for 40 ms) stands in its place. */
static struct result play(const char *run, int times, enum quickack_use use) {
    struct quickack q = {0};
    struct result r = {0};
    uint64_t now = 1000 * MS;
    for (int i = 0; i < times; i++)
        for (const char *at = run; *at; at++) {
            unsigned ms = 0;
            for (; *at >= '0' && *at <= '9'; at++)
                ms = ms * 10 + (unsigned)(*at - '0');
            now += ms * MS;
            if (*at == 'w') {
                struct quickack_found found = quickack_write(&q);
                r.stalls += found.stalls;
                r.lost_ms += (unsigned)(found.stall_ns / MS);
                r.saved_ms += (unsigned)(found.saved_ns / MS);
            } else if (*at == 'r' || *at == 'l') {
                struct quickack_action action = quickack_input(&q, use, now);
                r.sets += action.set;
                r.looks += action.look;
                if (action.look)
                    quickack_arrived(&q, *at == 'l' ? 40 : 0, 10);
            } else if (!*at) {
                break;
            }
        }
    return r;
}

#define STALLED "r 44 r w 5 "

static const struct {
    const char *name, *run;
    int times;
    enum quickack_use use;
    struct result wanted; /* stalls, looks, sets, lost, saved */
} runs[] = {
    {"whole messages", "r 1 w 5", 100, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"messages in two quick parts", "r 1 r 1 w 5", 100, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"one stall is none yet", STALLED, 1, QUICKACK_AUTO, {0, 1, 0, 0, 0}},
    {"the second one counts for both", STALLED, 2, QUICKACK_OFF, {2, 2, 0, 88, 0}},
    {"each one after it for itself", STALLED, 10, QUICKACK_OFF, {10, 10, 0, 440, 0}},
    {"header and body read in pieces", "r r r 44 r r w 5", 10, QUICKACK_OFF, {10, 10, 0, 440, 0}},
    {"the peer thinks for 29 ms", "r 29 r w 5", 10, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"the shortest stall", "r 30 r w 5", 10, QUICKACK_OFF, {10, 10, 0, 300, 0}},
    {"the longest", "r 60 r w 5", 10, QUICKACK_OFF, {10, 10, 0, 600, 0}},
    {"the peer thinks for 70 ms", "r 70 r w 5", 10, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"we read late", "r 44 l w 5", 10, QUICKACK_AUTO, {0, 4, 0, 0, 0}},
    {"a stream of samples, 40 ms apart", "r 40 r 40 r 40 r 40 w 40", 10, QUICKACK_AUTO, {0, 10, 0, 0, 0}},
    {"a stream without answers, however long", "r 40", 1000, QUICKACK_AUTO, {0, 1, 0, 0, 0}},
    {"requests 44 ms apart", "r w 44", 100, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"always, from the start", "r 1 w 5", 10, QUICKACK_ALWAYS, {0, 0, 10, 0, 0}},
    {"always: one call for what is read in pieces", "r r r r w 5", 10, QUICKACK_ALWAYS, {0, 0, 10, 0, 0}},
    /* two stalls, then it is set at both parts, four times more in vain: enough */
    {"auto gives up where it does not help", STALLED, 20, QUICKACK_AUTO, {20, 20, 8, 880, 0}},
    {"cured: two stalls, then each part is set; the whole one at the end says nothing",
     STALLED STALLED "r 1 r w 5 r 1 r w 5 r w 5", 1, QUICKACK_AUTO, {2, 2, 5, 88, 86}},
    {"a stall in spite of it, then a quick message", STALLED STALLED STALLED "r 1 r w 5", 1, QUICKACK_AUTO,
     {3, 3, 4, 132, 43}},
    {"given up: a quick message saves nothing",
     STALLED STALLED STALLED STALLED STALLED STALLED "r 1 r w 5", 1, QUICKACK_AUTO, {6, 6, 8, 264, 0}},
    {"a quick message between stalls in spite of it: not given up",
     STALLED STALLED STALLED STALLED STALLED "r 1 r w 5 " STALLED "r 1 r w 5", 1, QUICKACK_AUTO,
     {6, 6, 12, 264, 86}},
};

Test(stalls, of_the_other_side) {
    EACH_ROW(row, runs) {
        struct result r = play(row->run, row->times, row->use);
        EXPECT_INT(row->name, r.stalls, row->wanted.stalls);
        EXPECT_INT(row->name, r.looks, row->wanted.looks);
        EXPECT_INT(row->name, r.sets, row->wanted.sets);
        EXPECT_INT(row->name, r.lost_ms, row->wanted.lost_ms);
        EXPECT_INT(row->name, r.saved_ms, row->wanted.saved_ms);
    }
    struct quickack its_own = {.hands_off = true};
    cr_expect(!quickack_input(&its_own, QUICKACK_ALWAYS, MS).set, "the application sets it itself");
}

/* An input that took as long as a stall saved nothing, so it does not prove that TCP_QUICKACK is of use. */
Test(stalls, a_wait_as_long_as_a_stall_saves_nothing) {
    for (uint64_t shorter = 0; shorter < 2; shorter++) {
        struct quickack q = {.usual = 40 * MS, .repeats = PEER_STALL_REPEATS, .reads = 2, .before = 1,
                             .set = true, .useless = 1, .longest = 40 * MS - shorter};
        EXPECT_INT("saved", quickack_write(&q).saved_ns, shorter);
        EXPECT_INT("of no use", q.useless, shorter ? 0 : 1);
    }
}
