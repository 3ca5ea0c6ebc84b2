/* SPDX-License-Identifier: MIT
 *
 * The parts of policy one by one: what a failed write takes back, which errors end sending, what the window's
 * end costs, and each fact that forbids a hold.
 */
#include <errno.h>

#include "policy_inline.h"
#include "unit.h"

/* ---- writes that fail -------------------------------------------------------------- */

static const struct policy_action everything = {.ends_unit = true, .small_unit = true, .unanswered = true,
                                                .small_write = true};

static struct policy counts_of(uint16_t n) {
    return (struct policy){.units = n, .smalls = n, .unanswered = n, .small_writes = n, .position = n};
}

static void expect_counts(const char *name, const struct policy *p, unsigned units, unsigned position) {
    EXPECT_INT(name, p->units, units);
    EXPECT_INT(name, p->smalls, units);
    EXPECT_INT(name, p->unanswered, units);
    EXPECT_INT(name, p->small_writes, units);
    EXPECT_INT(name, p->position, position);
}

Test(policy_alone, counts_of_a_write_that_failed) {
    struct policy p = counts_of(3);
    policy_unsent(&p, &everything, 1);
    expect_counts("each less by one", &p, 2, 2);
    p = counts_of(0);
    policy_unsent(&p, &everything, 1);
    expect_counts("none below nothing", &p, 0, 0);
    p = counts_of(3);
    policy_unsent(&p, &(struct policy_action){0}, 1);
    expect_counts("what was not counted stays", &p, 3, 2);
    struct policy_action one[] = {everything, everything, everything, everything};
    one[0].ends_unit = one[1].small_unit = one[2].unanswered = one[3].small_write = false;
    for (int i = 0; i < 4; i++) {
        p = counts_of(3);
        policy_unsent(&p, &one[i], 1);
        EXPECT_INT("unit", p.units, i == 0 ? 3 : 2);
        EXPECT_INT("small unit", p.smalls, i == 1 ? 3 : 2);
        EXPECT_INT("unanswered", p.unanswered, i == 2 ? 3 : 2);
        EXPECT_INT("small write", p.small_writes, i == 3 ? 3 : 2);
    }
}

static const struct {
    const char *name;
    enum write_how how;
    bool ends_unit;
    uint32_t pending, message, bytes, pending_left, message_left;
} unsents[] = {
    {"held", WRITE_MORE, false, 10, 30, 4, 6, 26},
    {"all that is held", WRITE_MORE, false, 4, 4, 4, 0, 0},
    {"more than is held", WRITE_MORE, false, 3, 2, 4, 0, 0},
    {"plain, under a cork of its own", WRITE_PLAIN, false, 10, 30, 4, 6, 26},
    {"buffered bytes are not pending", WRITE_COALESCE, false, 10, 30, 4, 10, 26},
    {"a unit leaves what is pending", WRITE_PLAIN, true, 10, 30, 4, 10, 26},
    {"a sum beyond what can be counted", WRITE_PLAIN, true, 0, UINT32_MAX, 4, 0, UINT32_MAX},
    {"just below that", WRITE_PLAIN, true, 0, UINT32_MAX - 1, 4, 0, UINT32_MAX - 5},
};

Test(policy_alone, bytes_of_a_write_that_failed) {
    EACH_ROW(row, unsents) {
        struct policy p = {.units = 1, .pending = row->pending, .message_bytes = row->message};
        policy_unsent(&p, &(struct policy_action){.how = row->how, .ends_unit = row->ends_unit}, row->bytes);
        EXPECT_INT(row->name, p.pending, row->pending_left);
        EXPECT_INT(row->name, p.message_bytes, row->message_left);
    }
}

/* ---- errors, states, windows ----------------------------------------------------------- */

Test(policy_alone, errors_that_end_sending) {
    static const int ends[] = {EPIPE,       ECONNRESET,   ETIMEDOUT, ECONNABORTED, ECONNREFUSED,
                               ENETUNREACH, EHOSTUNREACH, ENETDOWN,  EHOSTDOWN};
    for (int error = 0; error < 140; error++) {
        bool ending = false;
        for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
            ending |= error == ends[i];
        struct policy p = {.established = true};
        policy_met(&p, error);
        cr_expect(p.refuses == ending && p.established == !ending, "error %d", error);
    }
}

Test(policy_alone, states_of_a_connection) {
    struct policy p = {0};
    policy_established(&p);
    EXPECT(p.established && !p.refuses);
    policy_refuses(&p);
    EXPECT(!p.established && p.refuses);
    policy_input(&p, 1, 2);
    cr_expect(!p.established && p.refuses, "input does not change that");
    policy_established(&p);
    EXPECT(p.established && !p.refuses);
    p.large = true;
    policy_no_room(&p);
    EXPECT(p.sndbuf_maybe_full && !p.large);
    p = (struct policy){.pending = 9, .units = 3, .smalls = 1};
    policy_pushed(&p);
    EXPECT(p.pending == 0 && p.units == 4 && p.smalls == 2);
    p.units = UINT16_MAX;
    policy_pushed(&p);
    EXPECT_INT("units", p.units, UINT16_MAX);
}

/* A hold that the window ended costs four, the end of a turn gives one back; sixteen are too many, in auto, or
 * where the kernel ends them. */
static const struct {
    const char *name;
    enum mode mode;
    bool by_kernel;
    unsigned before, after;
    bool nodelay_only;
} windows[] = {
    {"auto", MODE_AUTO, false, 0, 4, false},        {"auto: few", MODE_AUTO, false, 11, 15, false},
    {"auto: many", MODE_AUTO, false, 12, 16, true}, {"cork has a window", MODE_CORK, false, 12, 16, false},
    {"cork without one", MODE_CORK, true, 12, 16, true},
    {"cork without one: few", MODE_CORK, true, 11, 15, false},
};

Test(policy_alone, holds_that_the_window_ended) {
    EACH_ROW(row, windows) {
        struct policy p = {.mode = (uint8_t)row->mode, .window_ends = (uint8_t)row->before, .position = 2};
        policy_window_ended(&p, row->by_kernel);
        EXPECT_INT(row->name, p.window_ends, row->after);
        EXPECT_INT(row->name, p.nodelay_only, row->nodelay_only);
        EXPECT_INT(row->name, p.window_at, 2);
        EXPECT(!p.window_joined);
        policy_window_turn_ends(&p);
        EXPECT_INT(row->name, p.window_ends, row->after - 1);
        EXPECT_INT(row->name, p.window_at, 0);
    }
}

/* A window that joined four writes of a turn that goes on cost nothing. */
static const struct {
    const char *name;
    unsigned position, window_at, then;
    bool by_kernel, joined;
    unsigned left;
} joins[] = {
    {"four, and it goes on", 4, 0, 5, false, true, 9},
    {"four, and it ends there", 4, 0, 4, false, true, 13},
    {"three", 3, 0, 4, false, false, 13},
    {"four behind the last window", 9, 5, 10, false, true, 9},
    {"three behind it", 8, 5, 9, false, false, 13},
    {"a new turn since: its position alone", 4, 9, 5, false, true, 9},
    {"the kernel joins nothing", 4, 0, 5, true, false, 13},
};

Test(policy_alone, a_window_that_joined_many_writes) {
    EACH_ROW(row, joins) {
        struct policy p = {.mode = MODE_CORK, .window_ends = 10, .position = (uint16_t)row->position,
                           .window_at = (uint8_t)row->window_at};
        policy_window_ended(&p, row->by_kernel);
        EXPECT_INT(row->name, p.window_joined, row->joined);
        EXPECT_INT(row->name, p.window_ends, 14);
        p.position = (uint16_t)row->then;
        policy_window_turn_ends(&p);
        EXPECT_INT(row->name, p.window_ends, row->left);
        EXPECT(!p.window_joined);
    }
    struct policy p = {.mode = MODE_CORK, .window_ends = 3, .window_joined = true, .position = 5, .window_at = 4};
    policy_window_turn_ends(&p);
    EXPECT_INT("never below nothing", p.window_ends, 0);
    p = (struct policy){.mode = MODE_CORK, .window_joined = true, .window_ends = 9, .position = 300,
                        .window_at = 200};
    policy_window_ended(&p, false);
    EXPECT_INT("forgiven, and a new one", p.window_ends, 9);
    EXPECT_INT("as far as it counts", p.window_at, UINT8_MAX);
    p = (struct policy){.mode = MODE_CORK, .position = 254};
    policy_window_ended(&p, false);
    EXPECT_INT("it counts", p.window_at, 254);
}

/* ---- waits that are asked first ----------------------------------------------------------- */

Test(policy_alone, which_waits_are_asked_first) {
    struct policy p = {.goes_on = 1};
    EXPECT(!policy_asks_first(&p));
    p.goes_on = 2;
    EXPECT(policy_asks_first(&p));
    p.bursty = true;
    p.position = 2;
    cr_expect(policy_asks_first(&p), "nothing is known of this position");
    p.model.ended[1] = 216;
    cr_expect(policy_asks_first(&p), "more is to come");
    p.model.ended[1] = 217;
    cr_expect(!policy_asks_first(&p), "it was the last write");
    p.bursty = false;
    EXPECT(policy_asks_first(&p));
    policy_asked(&p, true);
    EXPECT(p.kept_turn && p.goes_on == 2);
    p.kept_turn = false;
    for (unsigned left = 1; left <= 3; left++) {
        policy_asked(&p, false);
        EXPECT_INT("less", p.goes_on, left < 2 ? 2 - left : 0);
    }
    EXPECT(!p.kept_turn);
}

/* ---- habits ------------------------------------------------------------------------------------ */

Test(policy_alone, quick_turns) {
    static const struct {
        const char *name;
        unsigned position;
        bool hesitated;
        uint64_t gap;
        unsigned quick;
    } rows[] = {
        {"quick", 2, false, 0, 6},   {"just quick", 1, false, HABIT_GAP_NS, 6}, {"late", 2, false, HABIT_GAP_NS + 1, 0},
        {"a late piece", 2, true, 0, 0}, {"no write", 0, false, 0, 0},
    };
    EACH_ROW(row, rows) {
        struct policy p = {.position = (uint16_t)row->position, .hesitated = row->hesitated, .quick_turns = 5};
        policy_habit_turn(&p, row->gap);
        EXPECT_INT(row->name, p.quick_turns, row->quick);
    }
}

Test(policy_alone, late_pieces) {
    static const struct {
        const char *name;
        unsigned position;
        bool before;
        uint64_t gap;
        bool hesitated;
    } rows[] = {
        {"the first piece has no gap", 1, false, UINT64_MAX, false},
        {"... and begins anew", 1, true, 0, false},
        {"soon", 2, false, HABIT_GAP_NS, false},
        {"late", 2, false, HABIT_GAP_NS + 1, true},
        {"soon, after a late one", 3, true, 0, true},
    };
    EACH_ROW(row, rows) {
        struct policy p = {.position = (uint16_t)row->position, .hesitated = row->before};
        policy_habit_piece(&p, row->gap);
        EXPECT_INT(row->name, p.hesitated, row->hesitated);
    }
}

Test(policy_alone, who_learns_a_habit) {
    for (int mode = 0; mode < MODE_COUNT; mode++)
        for (int bursty = 0; bursty < 2; bursty++)
            for (unsigned quick = HABIT - 1; quick <= HABIT; quick++) {
                struct policy p = {.mode = (uint8_t)mode, .bursty = bursty, .quick_turns = (uint8_t)quick};
                EXPECT_INT(mode_names[mode], policy_learns_habit(&p),
                           mode == MODE_AUTO && bursty && quick < HABIT);
            }
}

/* ---- what may be held ------------------------------------------------------------------------------ */

Test(policy_alone, what_may_be_held) {
    const struct policy good = {.mode = MODE_CORK, .established = true};
    const struct policy_limits limits = {.small = 100, .may_hold = true};
    struct policy_limits others = limits;
    struct policy p = good;
    EXPECT(policy_may_hold(&p, &limits));
#define NOT_IF(field, value)                                             \
    do {                                                                 \
        p = good;                                                        \
        p.field = (value);                                               \
        cr_expect(!policy_may_hold(&p, &limits), "%s", #field);          \
    } while (0)
    NOT_IF(untracked_io, true);
    NOT_IF(app_more, true);
    NOT_IF(nodelay_only, true);
    NOT_IF(never_hold, true);
    NOT_IF(unsure, true);
    NOT_IF(established, false);
    NOT_IF(app_nodelay, true);
    NOT_IF(app_cork, true);
    NOT_IF(no_more, true);
#undef NOT_IF
    p = good;
    others.may_hold = false;
    EXPECT(!policy_may_hold(&p, &others));
    others = limits;
    others.override = true;
    p.app_nodelay = true;
    EXPECT(policy_may_hold(&p, &others));
    p.app_cork = true;
    EXPECT(!policy_may_hold(&p, &others));
    p = good;
    p.mode = MODE_COALESCE;
    p.no_more = true;
    cr_expect(policy_may_hold(&p, &limits), "a buffer of ours needs no MSG_MORE");
}

Test(policy_alone, which_writes_may_be_held) {
    const struct policy_limits limits = {.small = 100, .may_hold = true};
    static const struct {
        const char *name;
        struct policy_write w;
        bool may;
    } rows[] = {
        {"one byte", {.bytes = 1}, true},          {"none", {.bytes = 0}, false},
        {"as large as may be", {.bytes = 100}, true}, {"larger", {.bytes = 101}, false},
        {"MSG_MORE", {.bytes = 1, .more = true}, false}, {"special", {.bytes = 1, .special = true}, false},
    };
    for (int mode = 0; mode < MODE_COUNT; mode++)
        EACH_ROW(row, rows) {
            struct policy p = {.mode = (uint8_t)mode, .established = true, .bursty = true};
            bool holds = mode >= MODE_CORK;
            EXPECT_INT(row->name, policy_may_hold_write(&p, &limits, &row->w), holds && row->may);
        }
}
