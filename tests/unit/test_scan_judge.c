/* SPDX-License-Identifier: MIT
 *
 * Sequences of samples, recorded from sockets of real programs, and the verdict on each.
 */
#include <criterion/criterion.h>

#include "judge.h"

/* Milliseconds, then the fields that change in a sequence. */
struct look {
    unsigned at, unsent, unacked, since, out, acked, in, data_in, received;
};

static struct scan_sample sample_of(const struct look *l) {
    return (struct scan_sample){
        .at_ns = (1000 + l->at) * UINT64_C(1000000),
        .queued = l->unsent + 200 * l->unacked,
        .unsent = l->unsent,
        .unacked = l->unacked,
        .mss = 32741,
        .cwnd = 10,
        .window = 65536,
        .since_sent_ms = l->since,
        .min_rtt_us = 7,
        .pacing = UINT64_MAX,
        .acked = l->acked,
        .received = l->received,
        .segments_in = l->in,
        .data_in = l->data_in,
        .data_out = l->out,
    };
}

static unsigned judge_all(struct scan_judge *j, const struct look *looks, size_t count,
                          struct scan_stall *last) {
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        struct scan_sample s = sample_of(&looks[i]);
        found += scan_judge(j, &s, last);
    }
    return found;
}

#define JUDGE(j, looks, last) judge_all(j, looks, sizeof(looks) / sizeof((looks)[0]), last)

/* A client that writes 200 and 100 bytes and waits for the answer, on loopback, HZ=250. */
static const struct look stalling[] = {
    {0, 100, 1, 8, 11, 0, 20, 5, 1000},     {12, 100, 1, 20, 11, 0, 20, 5, 1000},
    {22, 100, 1, 28, 11, 0, 20, 5, 1000},   {32, 100, 1, 40, 11, 0, 20, 5, 1000},
    {42, 100, 1, 4, 13, 300, 23, 6, 1200},  {52, 100, 1, 16, 13, 300, 23, 6, 1200},
    {62, 100, 1, 24, 13, 300, 23, 6, 1200}, {72, 100, 1, 36, 13, 300, 23, 6, 1200},
    {82, 0, 0, 4, 14, 600, 26, 7, 1400},
};

Test(scan_judge, a_hold_that_a_late_acknowledgement_ends_is_a_stall) {
    struct scan_judge j = {0};
    struct scan_stall last;
    cr_assert_eq(JUDGE(&j, stalling, &last), 2);
    cr_assert(!last.discovered);
    cr_assert_eq(j.answered, 2);
    cr_assert(!scan_judge_corks(&j) && !scan_judge_one_way(&j));
    cr_assert_eq(last.begin_ns, 1038 * UINT64_C(1000000)); /* as the kernel says */
    cr_assert_eq(last.end_ns, 1078 * UINT64_C(1000000));
}

Test(scan_judge, the_stall_by_which_a_socket_was_discovered_is_told) {
    struct scan_judge j = {0};
    struct scan_stall last;
    cr_assert_eq(judge_all(&j, stalling, 5, &last), 1);
    cr_assert(last.discovered);
}

static const struct {
    const char *name;
    unsigned stalls, corked, short_holds, watched_ms;
    struct look looks[5];
} sequences[] = {
    {"samples may be missing within a stall", 1, 0, 0, 42,
     {{0, 100, 1, 8, 11, 0, 20, 5, 0}, {30, 100, 1, 38, 11, 0, 20, 5, 0},
      {42, 0, 0, 4, 13, 300, 23, 6, 200}}},
    {"nothing is claimed over a gap", 0, 0, 0, 12,
     {{0, 100, 1, 8, 11, 0, 20, 5, 0}, {12, 100, 1, 20, 11, 0, 20, 5, 0},
      {200, 0, 0, 4, 13, 300, 23, 6, 200}}},
    {"what the program lets go itself is a cork", 0, 1, 0, 48,
     {{0, 100, 1, 12, 2, 0, 1, 1, 0}, {12, 100, 1, 24, 2, 0, 1, 1, 0}, {24, 0, 2, 4, 3, 0, 1, 1, 0},
      {36, 0, 2, 16, 3, 0, 1, 1, 0}, {48, 0, 0, 28, 3, 300, 2, 1, 0}}},
    {"what stays unsent behind its acknowledgement is one, too", 0, 1, 0, 36,
     {{0, 100, 1, 20, 2, 0, 1, 1, 0}, {12, 100, 1, 32, 2, 0, 1, 1, 0}, {24, 100, 0, 44, 2, 200, 2, 1, 0},
      {36, 0, 1, 4, 3, 200, 2, 1, 0}}},
    {"an answer ends it: the second request of a pipeline, 44 ms of thinking", 0, 0, 1, 48,
     {{0, 100, 1, 8, 2, 0, 1, 1, 0}, {12, 100, 1, 20, 2, 0, 1, 1, 0}, {24, 100, 1, 32, 2, 0, 1, 1, 0},
      {36, 100, 1, 44, 2, 0, 1, 1, 0}, {48, 0, 1, 4, 3, 200, 2, 2, 200}}},
    {"an acknowledgement after the round trip is not late", 0, 0, 0, 24,
     {{0, 100, 1, 8, 2, 0, 1, 1, 0}, {12, 100, 1, 20, 2, 0, 1, 1, 0}, {24, 0, 1, 4, 3, 200, 2, 1, 0}}},
};

Test(scan_judge, sequences) {
    for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
        struct scan_judge j = {0};
        struct scan_stall last;
        size_t count = 0;
        while (count < 5 && sequences[i].looks[count].out)
            count++;
        unsigned stalls = judge_all(&j, sequences[i].looks, count, &last);
        cr_expect(stalls == sequences[i].stalls && j.corked == sequences[i].corked &&
                      j.short_holds == sequences[i].short_holds &&
                      j.watched_ns == sequences[i].watched_ms * UINT64_C(1000000) &&
                      scan_judge_corks(&j) == (j.corked + j.early > 0),
                  "%s: %u, %u, %u, %u", sequences[i].name, stalls, (unsigned)j.corked,
                  (unsigned)j.short_holds, (unsigned)(j.watched_ns / 1000000));
    }
}

Test(scan_judge, a_stream_without_an_answer_is_told_apart) {
    struct scan_judge j = {0};
    struct scan_stall last;
    unsigned found = 0;
    for (unsigned i = 0; i < 3; i++) {
        const struct look looks[] = {
            {44 * i, 30, 1, 4, 10 + i, 200 * i, 20 + i, 5, 0},
            {44 * i + 12, 60, 1, 16, 10 + i, 200 * i, 20 + i, 5, 0},
            {44 * i + 24, 90, 1, 28, 10 + i, 200 * i, 20 + i, 5, 0},
            {44 * i + 36, 120, 1, 40, 10 + i, 200 * i, 20 + i, 5, 0},
        };
        found += JUDGE(&j, looks, &last);
    }
    cr_assert_eq(found, 2);
    cr_assert(scan_judge_one_way(&j) && !scan_judge_corks(&j));
}

struct state {
    const char *name;
    bool holds;
    unsigned unsent, unacked, queued, cwnd, window;
    uint64_t pacing;
    bool recovers;
};

static const struct state states[] = {
    {"held by Nagle's algorithm", true, 100, 1, 300, 10, 65536, UINT64_MAX, false},
    {"a window that is not told", true, 100, 1, 300, 10, UINT32_MAX, UINT64_MAX, false},
    {"nothing unsent", false, 0, 1, 300, 10, 65536, UINT64_MAX, false},
    {"nothing in flight: corked", false, 100, 0, 100, 10, 65536, UINT64_MAX, false},
    {"a whole segment waits: bulk", false, 1448, 1, 3000, 10, 65536, UINT64_MAX, false},
    {"the congestion window is full", false, 100, 10, 14000, 10, 65536, UINT64_MAX, false},
    {"the peer's window is full", false, 100, 1, 300, 10, 250, UINT64_MAX, false},
    {"a loss is repaired", false, 100, 1, 300, 10, 65536, UINT64_MAX, true},
    {"it is paced", false, 100, 1, 300, 10, 65536, 20000, false},
    {"a pacing rate that does not matter", true, 100, 1, 300, 10, 65536, 10000000, false},
};

Test(scan_judge, a_hold_has_no_other_reason) {
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        const struct state *t = &states[i];
        struct scan_sample s = {.unsent = t->unsent,
                                .unacked = t->unacked,
                                .queued = t->queued,
                                .mss = 1448,
                                .cwnd = t->cwnd,
                                .window = t->window,
                                .pacing = t->pacing,
                                .recovers = t->recovers};
        cr_assert_eq(scan_holds(&s), t->holds, "%s", t->name);
    }
}
