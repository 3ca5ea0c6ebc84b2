/* SPDX-License-Identifier: MIT
 *
 * Holding by turn: which writes wait in the kernel (more) or with us (buffer).
 */
#include <string.h>

#include "player.h"
#include "policy_inline.h"
#include "unit.h"

static const struct {
    const char *name;
    enum mode mode;
    const char *script, *wanted;
} holds[] = {
    {"off never", MODE_OFF, "200 100 r 200 r", "plain plain! . plain ."},
    {"observe never", MODE_OBSERVE, "200 100 r 200 r", "plain plain! . plain ."},
    {"nodelay never", MODE_NODELAY, "200 100 r 200 100 r", "plain push+plain . plain plain ."},

    {"cork until read", MODE_CORK, "200 100 r 200 r", "more more push. more push."},
    {"cork until a wait", MODE_CORK, "200 w 100 w", "more push| more push|"},
    {"cork: the limit is SMALL", MODE_CORK, "4096 r 4097 r", "more push. plain ."},
    {"cork: a large write takes with it what was held", MODE_CORK, "200 100000 r", "more plain ."},
    {"cork: ... and is the first unit of its message", MODE_CORK, "200 100000 200 r",
     "more plain more push."},
    {"cork: special writes are not held", MODE_CORK, "200 1s r", "more plain ."},
    {"cork: with Nagle off nothing is pushed by the wait", MODE_CORK, "w r", "| ."},
    {"cork: an empty write is not held", MODE_CORK, "0 r", "plain ."},

    {"coalesce until read", MODE_COALESCE, "200 100 r 200 r", "buffer buffer send. buffer send."},
    {"coalesce: a second unit must not wait for Nagle", MODE_COALESCE, "200 w 100 r 200 w 100 r",
     "buffer send| buffer push+send. buffer send| buffer send."},
    {"coalesce: a second unit of unknown size asks for the MSS", MODE_COALESCE, "600 400 w 300 r",
     "buffer buffer send| buffer mss+push+send."},
    {"coalesce: the limit of a write is SMALL", MODE_COALESCE, "4096 4097 r", "buffer plain ."},
    {"coalesce: and 16 KiB of a message", MODE_COALESCE, "4096 4096 4096 4096 1 r 1 r",
     "buffer buffer buffer buffer plain . buffer send."},
    {"coalesce: ... not a byte more", MODE_COALESCE, "4096 4096 4096 4095 1 1 r",
     "buffer buffer buffer buffer buffer plain ."},
    {"coalesce: special writes are not buffered", MODE_COALESCE, "200 100s r", "buffer plain ."},

    {"auto starts with a late push, then holds and foretells", MODE_AUTO,
     "200 100 r 200 100 r 200 100 r", "plain push+plain . more plain . more plain ."},
    {"auto: fifteen writes are one segment from the second turn on", MODE_AUTO,
     "r 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 r 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 r",
     ". plain push+plain plain plain plain plain plain plain plain plain plain plain plain plain "
     "plain . more more more more more more more more more more more more more more plain ."},
    {"auto: a turn shorter than foretold is pushed", MODE_AUTO, "2 2 2 r 2 2 r 2 2 2 r",
     "plain push+plain plain . more more push. more more plain ."},
    {"auto: a turn longer than foretold costs a segment", MODE_AUTO, "2 2 r 2 2 2 r 2 2 r",
     "plain push+plain . more plain plain . more plain ."},
    {"auto: a connection in health is not held", MODE_AUTO, "200 r 200 r 200 r 200 r",
     "plain . plain . plain . plain ."},
    {"auto: nor one whose turns are single writes", MODE_AUTO,
     "200 w 100 r 200 w 100 r 200 w 100 r", "plain | push+plain . plain | plain . plain | plain ."},
    {"auto: while input is pending nothing is held", MODE_AUTO, "200 100 R 200 100 r 200 100 r",
     "plain push+plain . plain plain . more plain ."},
    {"auto: nothing is held before the first input", MODE_AUTO, "200 100 w 200 100 w 200 100",
     "plain push+plain | plain plain | plain plain"},
    {"auto: larger than SMALL is not held", MODE_AUTO, "200 100 r 5000 100 r",
     "plain push+plain . plain mss+plain ."},
    {"auto: special writes are not held", MODE_AUTO, "200 100 r 200s 100 r",
     "plain push+plain . plain plain ."},
};

Test(policy_holding, by_turn) {
    EACH_ROW(row, holds) {
        struct player player;
        player_start(&player, row->mode);
        EXPECT_TEXT(row->name, play(&player, row->script), row->wanted);
    }
}

/* ---- where a hold is never begun --------------------------------------- */

static void is_untracked(struct player *player) {
    player->policy.untracked_io = true;
}
static void more_means_nothing(struct player *player) {
    player->policy.mptcp = true;
}
static void is_never_held(struct player *player) {
    player->policy.never_hold = true;
}
static void is_nodelay_only(struct player *player) {
    player->policy.nodelay_only = true;
}
static void is_not_established(struct player *player) {
    player->policy.established = false;
}
static void has_no_ticker(struct player *player) {
    player->limits.may_hold = false;
}
static void set_nodelay(struct player *player) {
    player->policy.app_nodelay = player->policy.nodelay = true;
}
static void set_cork(struct player *player) {
    player->policy.app_cork = true;
}
static void is_within_more(struct player *player) {
    player->policy.app_more = true;
}
static void has_small_1(struct player *player) {
    player->limits.small = 1;
}
static void overrides(struct player *player) {
    set_nodelay(player);
    player->limits.override = true;
}
static void is_shared(struct player *player) {
    player->policy.never_buffer = true;
}
static void is_shared_and_has_no_room(struct player *player) {
    is_shared(player);
    player->limits.room = 0;
}
static void is_shared_and_more_means_nothing(struct player *player) {
    is_shared(player);
    more_means_nothing(player);
}
static void overrides_cork(struct player *player) {
    set_cork(player);
    player->limits.override = true;
}

static const struct {
    const char *name;
    void (*change)(struct player *player);
    const char *cork, *coalesce, *autom; /* how "200" leaves, where else it would be held */
} places[] = {
    {"untracked", is_untracked, "plain", "plain", "plain"},
    {"MPTCP or a TCP_ULP: buffering is still possible", more_means_nothing, "plain", "buffer",
     "plain"},
    {"shared with another process: not buffered", is_shared, "more", "more", "more"},
    {"... whatever room there is", is_shared_and_has_no_room, "more", "more", "more"},
    {"... and MPTCP or a TCP_ULP", is_shared_and_more_means_nothing, "plain", "plain", "plain"},
    {"it defied prediction", is_nodelay_only, "plain", "plain", "plain"},
    {"its writes are told apart", is_never_held, "plain", "plain", "plain"},
    {"not known to be connected", is_not_established, "plain", "plain", "plain"},
    {"no thread for the window", has_no_ticker, "plain", "plain", "plain"},
    {"the application's TCP_NODELAY", set_nodelay, "plain", "plain", "plain"},
    {"the application's TCP_CORK", set_cork, "plain", "plain", "plain"},
    {"the end of its MSG_MORE", is_within_more, "plain", "plain", "plain"},
    {"UNSTALL_SMALL=1", has_small_1, "plain", "plain", "plain"},
    {"UNSTALL_OVERRIDE and its TCP_NODELAY", overrides, "more", "buffer", "more"},
    {"UNSTALL_OVERRIDE does not override TCP_CORK", overrides_cork, "plain", "plain", "plain"},
};

static const char *answer_in(enum mode mode, void (*change)(struct player *player),
                             struct player *player) {
    player_start(player, mode);
    play_again(player, 3, "200 100 r"); /* in auto: held from now on */
    if (change)
        change(player);
    return play(player, "200");
}

Test(policy_holding, never_where) {
    struct player player;
    EXPECT_TEXT("else: cork", answer_in(MODE_CORK, NULL, &player), "more");
    EXPECT_TEXT("else: coalesce", answer_in(MODE_COALESCE, NULL, &player), "buffer");
    EXPECT_TEXT("else: auto", answer_in(MODE_AUTO, NULL, &player), "more");
    EACH_ROW(row, places) {
        EXPECT_TEXT(row->name, answer_in(MODE_CORK, row->change, &player), row->cork);
        EXPECT_TEXT(row->name, answer_in(MODE_COALESCE, row->change, &player), row->coalesce);
        EXPECT_TEXT(row->name, answer_in(MODE_AUTO, row->change, &player), row->autom);
    }
}

/* The remedy where nothing is held: TCP_NODELAY. */
Test(policy_holding, late_push_where_holds_are_impossible) {
    static void (*const changes[])(struct player *) = {is_untracked, more_means_nothing, is_nodelay_only,
                                                       is_not_established, has_no_ticker};
    static const enum mode modes[] = {MODE_NODELAY, MODE_CORK, MODE_AUTO};
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
        for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
            struct player player;
            player_start(&player, modes[m]);
            changes[i](&player);
            const char *got = play(&player, "200 100 w");
            cr_expect(strcmp(got, "plain push+plain |") == 0, "change %zu in %s: %s", i,
                      mode_names[modes[m]], got);
        }
}

/* policy_holds() is a question: the shim asks it before it starts the window's thread. */
Test(policy_holding, the_question_changes_nothing) {
    static const enum mode modes[] = {MODE_CORK, MODE_COALESCE, MODE_AUTO, MODE_NODELAY};
    for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
        struct player player;
        player_start(&player, modes[m]);
        play_again(&player, 3, "200 100 r");
        policy_turn_begins(&player.policy, false);
        player.policy.position = 1;
        struct policy before = player.policy;
        struct policy_write w = {.bytes = 200};
        bool holds_it = policy_holds(&player.policy, &player.limits, &w);
        EXPECT_INT(mode_names[modes[m]], holds_it, modes[m] != MODE_NODELAY);
        cr_expect(memcmp(&before, &player.policy, sizeof(before)) == 0, "%s", mode_names[modes[m]]);
    }
}

/* Bytes that are held or buffered and then released are one unit, with any number of writes. */
Test(policy_holding, release) {
    struct policy p = {.mode = MODE_COALESCE, .established = true};
    struct policy_limits limits = {.small = 4096, .may_hold = true};
    struct policy_action action = policy_release(&p, &limits, 300);
    EXPECT(action.ends_unit && !action.late_push && !action.need_facts);
    action = policy_release(&p, &limits, 300);
    cr_expect(action.ends_unit && action.late_push, "a second small unit with Nagle in force");
    p.nodelay = true;
    action = policy_release(&p, &limits, 300);
    cr_expect(action.ends_unit && !action.late_push, "Nagle is off already");
    policy_input(&p, 10, 100, false);
    p.nodelay = false;
    action = policy_release(&p, &limits, 300);
    cr_expect(!action.late_push, "input: the first unit of a new message");
}

/* ---- the fast path behind buffered bytes ---------------------------------- */

static const struct {
    const char *name;
    uint32_t bytes;
} followers[] = {
    {"a small one", 100},     {"a byte", 1},  {"the most that is buffered", 4096},
    {"more than that", 4097}, {"nothing", 0},
};

/* The long path would buffer each write that the fast path takes, and both leave the same state. */
Test(policy_holding, the_fast_path_decides_as_the_long_path) {
    const struct policy_limits limits = {.small = 4096, .may_hold = true, .room = 4096};
    EACH_ROW(row, followers) {
        struct policy p = {.mode = MODE_COALESCE, .established = true, .buffer_limit = 16384};
        struct policy_write first = {.bytes = 200}, next = {.bytes = row->bytes};
        p.position = 1;
        ASSERT(policy_write(&p, &limits, &first).how == WRITE_COALESCE);
        struct policy brief = p;
        p.position = 2; /* as joining the turn does */
        struct policy_action action = policy_write(&p, &limits, &next);
        bool taken = policy_buffers_on(&brief, &limits, row->bytes);
        EXPECT_INT(row->name, taken, action.how == WRITE_COALESCE);
        if (taken)
            EXPECT_INT(row->name, memcmp(&p, &brief, sizeof(p)), 0);
    }
}

Test(policy_holding, the_fast_path_is_not_taken) {
    const struct policy_limits limits = {.small = 4096, .may_hold = true, .room = 4096};
    const struct policy good = {
        .mode = MODE_COALESCE, .established = true, .buffer_limit = 16384, .message_bytes = 200};
    struct policy p = good;
    EXPECT(policy_buffers_on(&p, &limits, 100));
    p = good, p.sndbuf_maybe_full = true;
    EXPECT(!policy_buffers_on(&p, &limits, 100));
    p = good, p.established = false;
    EXPECT(!policy_buffers_on(&p, &limits, 100));
    p = good, p.message_bytes = 0; /* input has come: a message of its own */
    EXPECT(!policy_buffers_on(&p, &limits, 100));
    p = good, p.message_bytes = 16300;
    EXPECT(!policy_buffers_on(&p, &limits, 100));
    p = good;
    EXPECT(!policy_buffers_on(&p, &(struct policy_limits){.small = 4096, .room = 99}, 100));
}
