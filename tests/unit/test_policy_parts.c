/* SPDX-License-Identifier: MIT
 *
 * The parts of policy one by one: the counts that a failed write takes back, the errors that end sending, the
 * cost of the window's end, and each fact that forbids a hold.
 */
#include <errno.h>

#include "policy_inline.h"
#include "unit.h"

/* ---- writes that fail --------------------------------------------------- */

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

Test(policy_parts, counts_of_a_write_that_failed) {
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

Test(policy_parts, bytes_of_a_write_that_failed) {
    EACH_ROW(row, unsents) {
        struct policy p = {.units = 1, .pending = row->pending, .message_bytes = row->message};
        policy_unsent(&p, &(struct policy_action){.how = row->how, .ends_unit = row->ends_unit}, row->bytes);
        EXPECT_INT(row->name, p.pending, row->pending_left);
        EXPECT_INT(row->name, p.message_bytes, row->message_left);
    }
}

/* ---- errors, states, windows -------------------------------------------- */

Test(policy_parts, errors_that_end_sending) {
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

Test(policy_parts, states_of_a_connection) {
    struct policy p = {0};
    policy_established(&p);
    EXPECT(p.established && !p.refuses);
    policy_refuses(&p);
    EXPECT(!p.established && p.refuses);
    policy_input(&p, 1, 2, false);
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

/* A hold that the window ended costs four, the end of a turn gives one back; sixteen are too many, in auto,
 * or where the kernel ends them. */
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

Test(policy_parts, holds_that_the_window_ended) {
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

Test(policy_parts, a_window_that_joined_many_writes) {
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
    struct policy p = {.mode = MODE_CORK, .window_ends = 3, .window_joined = true, .position = 5,
        .window_at = 4};
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

/* ---- waits that are asked first ----------------------------------------- */

Test(policy_parts, which_waits_are_asked_first) {
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

/* ---- habits ------------------------------------------------------------- */

Test(policy_parts, quick_turns) {
    static const struct {
        const char *name;
        unsigned position;
        bool hesitated;
        uint64_t gap;
        unsigned quick;
    } rows[] = {
        {"quick", 2, false, 0, 6},   {"just quick", 1, false, HABIT_GAP_NS, 6},
        {"late", 2, false, HABIT_GAP_NS + 1, 0},
        {"a late piece", 2, true, 0, 0}, {"no write", 0, false, 0, 0},
    };
    EACH_ROW(row, rows) {
        struct policy p = {.position = (uint16_t)row->position, .hesitated = row->hesitated,
            .quick_turns = 5};
        policy_habit_turn(&p, row->gap);
        EXPECT_INT(row->name, p.quick_turns, row->quick);
    }
}

Test(policy_parts, late_pieces) {
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

Test(policy_parts, who_learns_a_habit) {
    for (int mode = 0; mode < MODE_COUNT; mode++)
        for (int bursty = 0; bursty < 2; bursty++)
            for (unsigned quick = HABIT - 1; quick <= HABIT; quick++) {
                struct policy p = {.mode = (uint8_t)mode, .bursty = bursty, .quick_turns = (uint8_t)quick};
                EXPECT_INT(mode_names[mode], policy_learns_habit(&p),
                           mode == MODE_AUTO && bursty && quick < HABIT);
            }
}

/* ---- conditions of a hold --------------------------------------------------- */

Test(policy_parts, what_may_be_held) {
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
    NOT_IF(mptcp, true);
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
    p.mptcp = true;
    cr_expect(policy_may_hold(&p, &limits), "a buffer of ours needs no MSG_MORE");
}

Test(policy_parts, which_writes_may_be_held) {
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

/* ---- input -------------------------------------------------------------- */

Test(policy_parts, an_input_ends_the_message) {
    struct policy p = {.established = false, .one_way = true, .units = 3, .turns = 4, .small_writes = 5,
                       .smalls = 6, .message_bytes = 7, .pending = 8, .goes_on = 9, .kept_turn = true,
                       .position = 2, .unanswered = 4, .bursty = true};
    policy_input(&p, 10, 100, false);
    EXPECT(p.units == 0 && p.turns == 0 && p.small_writes == 0 && p.smalls == 0 && p.message_bytes == 0 &&
           p.pending == 0);
    EXPECT(p.established && p.input_ever && !p.input_pending && !p.one_way && !p.kept_turn);
    EXPECT(p.goes_on == 9 && p.position == 2 && p.unanswered == 4 && p.bursty);
    EXPECT(!p.large && !p.sndbuf_maybe_full);
}

/* A message of one turn that no wait kept open goes on no more. */
Test(policy_parts, an_input_after_one_turn) {
    for (unsigned turns = 0; turns < 4; turns++)
        for (int kept = 0; kept < 2; kept++) {
            struct policy p = {.turns = (uint16_t)turns, .kept_turn = kept, .goes_on = 5};
            policy_input(&p, 1, 2, false);
            EXPECT_INT("goes on", p.goes_on, turns == 1 && !kept ? 0 : 5);
        }
}

static const struct {
    size_t bytes, asked;
    bool leaves;
} inputs[] = {{4096, 4096, true}, {4095, 4095, false}, {4095, 4096, false}, {8192, 8192, true},
{1, 1, false}};

Test(policy_parts, input_that_may_be_left) {
    EACH_ROW(row, inputs) {
        struct policy p = {0};
        EXPECT_INT("leaves", policy_leaves_input(row->bytes, row->asked), row->leaves);
        policy_input(&p, row->bytes, row->asked, false);
        EXPECT_INT("pending", p.input_pending, row->leaves);
    }
}

/* A message that exceeded the room stopped the buffering; the answer to one that is not huge lifts that. */
Test(policy_parts, an_input_after_a_large_message) {
    static const struct {
        const char *name;
        bool large;
        uint32_t bytes;
        bool full;
    } rows[] = {{"large", true, 65536, false}, {"huge", true, 65537, true},
    {"no room by the kernel", false, 5, true}};
    EACH_ROW(row, rows) {
        struct policy p = {.large = row->large, .sndbuf_maybe_full = true, .message_bytes = row->bytes};
        policy_input(&p, 1, 2, false);
        EXPECT_INT(row->name, p.sndbuf_maybe_full, row->full);
        EXPECT(!p.large);
    }
}

/* ---- the end of a turn -------------------------------------------------- */

static const struct {
    const char *name;
    struct policy policy;
    bool bursty;
    unsigned learned; /* of a turn of this position */
} turns[] = {
    {"two writes, cured by us", {.position = 2, .nodelay = true}, true, 2},
    {"one write", {.position = 1, .nodelay = true}, false, 0},
    {"cured by the application", {.position = 2, .nodelay = true, .app_nodelay = true}, false, 0},
    {"not cured", {.position = 2}, false, 0},
    {"one write of a bursty one", {.position = 1, .bursty = true}, true, 1},
    {"no write", {.bursty = true, .nodelay = true}, true, 0},
};

Test(policy_parts, the_end_of_a_turn) {
    EACH_ROW(row, turns) {
        struct policy p = row->policy;
        p.window_ends = 2;
        policy_turn_ends(&p);
        EXPECT_INT(row->name, p.bursty, row->bursty);
        EXPECT_INT(row->name, p.position, 0);
        EXPECT_INT(row->name, p.window_ends, row->policy.position ? 1 : 2);
        for (unsigned i = 1; i <= TURN_POSITIONS; i++)
            EXPECT_INT(row->name, turn_predict(&p.model, i) == TURN_LAST, i == row->learned);
    }
}

Test(policy_parts, who_becomes_bursty_learns_anew) {
    struct policy p = {.position = 2, .nodelay = true, .quick_turns = 7};
    p.model.ended[7] = 255;
    policy_turn_ends(&p);
    EXPECT(p.bursty && p.quick_turns == 0 && p.model.ended[7] == 0 && p.model.ended[1] == 255);
    p.position = 3;
    p.quick_turns = 7;
    policy_turn_ends(&p);
    EXPECT(p.quick_turns == 7 && p.model.ended[1] < 255 && p.model.ended[2] == 255);
}

/* ---- buffered bytes ----------------------------------------------------- */

static const struct {
    const char *name;
    struct policy policy;
    uint32_t room;
    size_t bytes;
    bool goes_on;
    unsigned smalls;
} buffers[] = {
    {"small", {.established = true, .message_bytes = 10, .buffer_limit = 100, .mss = 50}, 90, 49, true, 1},
    {"not small", {.established = true, .message_bytes = 10, .buffer_limit = 100, .mss = 50}, 90, 50, true,
     0},
    {"as much as there is room", {.established = true, .message_bytes = 10, .buffer_limit = 100}, 40, 40,
     true, 1},
    {"more", {.established = true, .message_bytes = 10, .buffer_limit = 100}, 40, 41, false, 0},
    {"as much as the kernel takes", {.established = true, .message_bytes = 10, .buffer_limit = 50}, 90, 40,
     true, 1},
    {"more", {.established = true, .message_bytes = 10, .buffer_limit = 50}, 90, 41, false, 0},
    {"as large as may be", {.established = true, .message_bytes = 1, .buffer_limit = 200}, 200, 100, true, 1},
    {"larger", {.established = true, .message_bytes = 1, .buffer_limit = 200}, 200, 101, false, 0},
    {"nothing", {.established = true, .message_bytes = 10, .buffer_limit = 100}, 90, 0, false, 0},
    {"not connected", {.message_bytes = 10, .buffer_limit = 100}, 90, 5, false, 0},
    {"the first of a message", {.established = true, .buffer_limit = 100}, 90, 5, false, 0},
    {"it may have no room", {.established = true, .message_bytes = 10, .buffer_limit = 100,
                             .sndbuf_maybe_full = true}, 90, 5, false, 0},
};

Test(policy_parts, what_joins_the_buffer) {
    EACH_ROW(row, buffers) {
        struct policy p = row->policy;
        p.position = 1;
        const struct policy_limits limits = {.small = 100, .room = row->room};
        EXPECT_INT(row->name, policy_buffers_on(&p, &limits, row->bytes), row->goes_on);
        EXPECT_INT(row->name, p.message_bytes, row->policy.message_bytes + (row->goes_on ? row->bytes : 0));
        EXPECT_INT(row->name, p.small_writes, row->smalls);
        EXPECT_INT(row->name, p.position, row->goes_on ? 2 : 1);
    }
}

/* ---- the growing MSS of loopback ---------------------------------------- */

Test(policy_parts, when_the_mss_is_asked_again) {
    const struct policy large = {.mss = MSS_GROWS, .first_unit = MSS_GROWS};
    struct policy p = large;
    unsigned asked = 0;
    for (unsigned i = 1; i <= 256; i++) {
        bool old = mss_is_old(&p, 20000);
        cr_expect(old == (i > 1 && i < 256 && (i & (i - 1)) == 0), "unit %u", i);
        asked += old;
    }
    EXPECT_INT("of 256", asked, 7);
    static const struct {
        const char *name;
        struct policy policy;
        size_t bytes;
        bool counts;
    } rows[] = {
        {"a large unit", {.mss = MSS_GROWS}, MSS_GROWS, true},
        {"a small one behind a large one", {.mss = MSS_GROWS, .first_unit = MSS_GROWS}, 1, true},
        {"a small one behind a small one", {.mss = MSS_GROWS, .first_unit = MSS_GROWS - 1}, MSS_GROWS - 1,
         false},
        {"an MSS that does not grow", {.mss = MSS_GROWS - 1, .first_unit = 20000}, 20000, false},
        {"a surely large one", {.mss = MSS_GROWS, .first_unit = 20000}, SURELY_LARGE, false},
        {"nearly surely", {.mss = MSS_GROWS, .first_unit = 20000}, SURELY_LARGE - 1, true},
        {"Nagle is off", {.mss = MSS_GROWS, .first_unit = 20000, .nodelay = true}, 20000, false},
        {"... or may be on", {.mss = MSS_GROWS, .first_unit = 20000, .nodelay = true,
         .nodelay_uncertain = true},
         20000, true},
    };
    EACH_ROW(row, rows) {
        p = row->policy;
        p.large_units = 1;
        EXPECT_INT(row->name, mss_is_old(&p, row->bytes), row->counts);
        EXPECT_INT(row->name, p.large_units, 1 + row->counts);
    }
}

/* ---- sums --------------------------------------------------------------- */

Test(policy_parts, sums_that_end) {
    uint32_t sum = UINT32_MAX - 5;
    add32(&sum, 5);
    EXPECT_INT("all of it", sum, UINT32_MAX);
    sum = UINT32_MAX - 5;
    add32(&sum, 6);
    EXPECT_INT("no more", sum, UINT32_MAX);
    add32(&sum, SIZE_MAX);
    EXPECT_INT("no more", sum, UINT32_MAX);
    sum = 7;
    add32(&sum, 3);
    EXPECT_INT("a sum", sum, 10);
    uint16_t count = UINT16_MAX - 1;
    count16(&count);
    EXPECT_INT("the last", count, UINT16_MAX);
    count16(&count);
    EXPECT_INT("no more", count, UINT16_MAX);
    EXPECT(leaves_tail(1, 10) && leaves_tail(11, 10) && leaves_tail(19, 10));
    EXPECT(!leaves_tail(0, 10) && !leaves_tail(10, 10) && !leaves_tail(20, 10));
}

/* ---- large messages, and an MSS that is not known ------------------------ */

/* coalesce: a message larger than the kernel surely has room for. */
Test(policy_parts, a_message_beyond_the_known_room) {
    static const struct {
        const char *name;
        uint32_t before, limit;
        size_t bytes;
        bool full;
    } rows[] = {{"less", 0, 1000, 999, false},
                {"all of it", 0, 1000, 1000, false},
                {"more", 0, 1000, 1001, true},
                {"more by the second write", 600, 1000, 401, true},
                {"not known", 0, 0, 60000, false}};
    EACH_ROW(row, rows) {
        struct policy p = {.mode = MODE_COALESCE,
                           .established = true,
                           .input_ever = true,
                           .nodelay_only = true,
                           .message_bytes = row->before,
                           .buffer_limit = (uint16_t)row->limit};
        policy_write(&p, &(struct policy_limits){.small = 4096},
                     &(struct policy_write){.bytes = row->bytes});
        EXPECT_INT(row->name, p.sndbuf_maybe_full, row->full);
        EXPECT_INT(row->name, p.large, row->full);
    }
}

/* Where both units are smaller than any MSS, it need not be asked. */
Test(policy_parts, units_that_are_surely_small) {
    static const struct {
        const char *name;
        uint32_t first;
        size_t bytes;
        bool asks;
    } rows[] = {{"both", 535, 535, false},
                {"the first is not", 536, 535, true},
                {"the second is not", 535, 536, true}};
    EACH_ROW(row, rows) {
        struct policy p = {.mode = MODE_AUTO,
                           .established = true,
                           .input_ever = true,
                           .units = 1,
                           .position = 2,
                           .first_unit = row->first};
        struct policy_action action = policy_write(&p, &(struct policy_limits){.small = 4096},
                                                   &(struct policy_write){.bytes = row->bytes});
        EXPECT_INT(row->name, action.need_facts, row->asks);
    }
}
