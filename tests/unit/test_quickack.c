/* SPDX-License-Identifier: MIT
 *
 * The other side's stall: how it shows in a run of inputs and writes, and the cure.  A run is text: `r` an
 * input, `w` a write of ours, a number the milliseconds that pass; each input that is looked at had just
 * arrived, unless `l` (late: it had waited for 40 ms) stands in its place.
 */
#include "stalls.h"
#include "unit.h"

#define MS UINT64_C(1000000)

struct result {
    unsigned stalls, looks, sets;
    unsigned lost_ms, saved_ms;
};

static struct result play(const char *run, int times, enum quickack_use use) {
    struct quickack q = {0};
    struct result r = {0};
    uint64_t now = 1000 * MS;
    for (int i = 0; i < times; i++)
        for (const char *at = run; *at; at++) {
            if (*at >= '0' && *at <= '9') {
                char *end;
                now += strtoul(at, &end, 10) * MS;
                at = end - 1;
            } else if (*at == 'w') {
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
            }
        }
    return r;
}

static const struct {
    const char *name, *run;
    int times;
    enum quickack_use use;
    struct result wanted; /* stalls, looks, sets, lost, saved */
} rows[] = {
    {"whole messages", "r 1 w 5", 100, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"messages in two quick parts", "r 1 r 1 w 5", 100, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"one stall is none yet", "r 44 r w 5", 1, QUICKACK_AUTO, {0, 1, 0, 0, 0}},
    {"the second one counts for both", "r 44 r w 5", 2, QUICKACK_OFF, {2, 2, 0, 88, 0}},
    {"each one after it for itself", "r 44 r w 5", 10, QUICKACK_OFF, {10, 10, 0, 440, 0}},
    {"header and body read in pieces", "r r r 44 r r w 5", 10, QUICKACK_OFF, {10, 10, 0, 440, 0}},
    {"the peer thinks for 20 ms", "r 20 r w 5", 10, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"... or for 29", "r 29 r w 5", 10, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"the shortest stall", "r 30 r w 5", 10, QUICKACK_OFF, {10, 10, 0, 300, 0}},
    {"the longest", "r 60 r w 5", 10, QUICKACK_OFF, {10, 10, 0, 600, 0}},
    {"... or for 70", "r 70 r w 5", 10, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"we read late", "r 44 l w 5", 10, QUICKACK_AUTO, {0, 4, 0, 0, 0}},
    {"a stream of samples, 40 ms apart",
     "r 40 r 40 r 40 r 40 w 40",
     10,
     QUICKACK_AUTO,
     {0, 10, 0, 0, 0}},
    {"a stream without answers", "r 40", 100, QUICKACK_AUTO, {0, 1, 0, 0, 0}},
    {"requests 44 ms apart", "r w 44", 100, QUICKACK_AUTO, {0, 0, 0, 0, 0}},
    {"always, from the start", "r 1 w 5", 10, QUICKACK_ALWAYS, {0, 0, 10, 0, 0}},
    {"always: one call for what is read in pieces",
     "r r r r w 5",
     10,
     QUICKACK_ALWAYS,
     {0, 0, 10, 0, 0}},
    /* two stalls, then it is set at both parts, four times more in vain: enough */
    {"auto gives up where it does not help", "r 44 r w 5", 20, QUICKACK_AUTO, {20, 20, 8, 880, 0}},
};

Test(quickack, runs) {
    EACH_ROW(row, rows) {
        struct result r = play(row->run, row->times, row->use);
        EXPECT_INT(row->name, r.stalls, row->wanted.stalls);
        EXPECT_INT(row->name, r.looks, row->wanted.looks);
        EXPECT_INT(row->name, r.sets, row->wanted.sets);
        EXPECT_INT(row->name, r.lost_ms, row->wanted.lost_ms);
        EXPECT_INT(row->name, r.saved_ms, row->wanted.saved_ms);
    }
}

/* A peer that waits for our acknowledgement only: two stalls, and then none. */
Test(quickack, cures_and_says_what_it_saved) {
    struct result r = play("r 44 r w 5 r 44 r w 5 r 1 r w 5 r 1 r w 5 r w 5", 1, QUICKACK_AUTO);
    EXPECT_INT("stalls", r.stalls, 2);
    EXPECT_INT("set at each part from then on", r.sets, 5);
    EXPECT_INT("saved by two messages; the whole one says nothing", r.saved_ms, 86);
}

/* Each message is counted by itself: no count goes over into the next one. */
static const struct {
    const char *name, *run;
    unsigned saved_ms;
} forgotten[] = {
    {"a stall in spite of it, then a quick message",
     "r 44 r w 5 r 44 r w 5 r 44 r w 5 r 1 r w 5", 43},
    {"given up: it is not set any more, and a quick message saves nothing",
     "r 44 r w 5 r 44 r w 5 r 44 r w 5 r 44 r w 5 r 44 r w 5 r 44 r w 5 r 1 r w 5", 0},
    {"a quick message between stalls in spite of it: not given up",
     "r 44 r w 5 r 44 r w 5 r 44 r w 5 r 44 r w 5 r 44 r w 5 r 1 r w 5 r 44 r w 5 r 1 r w 5", 86},
};

Test(quickack, each_message_by_itself) {
    EACH_ROW(row, forgotten)
        EXPECT_INT(row->name, play(row->run, 1, QUICKACK_AUTO).saved_ms, row->saved_ms);
}

Test(quickack, leaves_an_application_alone_that_sets_it_itself) {
    struct quickack q = {.hands_off = true};
    EXPECT(!quickack_input(&q, QUICKACK_ALWAYS, MS).set);
}

Test(quickack, a_stream_stays_one) {
    struct quickack q = {.reads = 1, .gaps = UINT8_MAX};
    EXPECT(!quickack_input(&q, QUICKACK_AUTO, 40 * MS).look);
    EXPECT_INT("gaps", q.gaps, UINT8_MAX);
}

/* An input that took as long as a stall saved nothing, so it does not prove that TCP_QUICKACK is of use. */
Test(quickack, a_wait_as_long_as_a_stall_saves_nothing) {
    struct quickack q = {.usual = 40 * MS, .repeats = PEER_STALL_REPEATS, .reads = 2, .before = 1,
                         .set = true, .useless = 1};
    struct quickack shorter = q;
    q.longest = 40 * MS;
    quickack_write(&q);
    EXPECT_INT("as long", q.useless, 1);
    shorter.longest = 40 * MS - 1;
    EXPECT(quickack_write(&shorter).saved_ns == 1);
    EXPECT_INT("shorter", shorter.useless, 0);
}
