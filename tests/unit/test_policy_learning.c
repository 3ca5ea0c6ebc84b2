/* SPDX-License-Identifier: MIT
 *
 * The model learns from a connection's past: the length of its turns, and whether its messages go on after a
 * wait. A connection that defies prediction gets TCP_NODELAY only.
 */
#include "player.h"
#include "unit.h"

/* ---- a program that computes on while bytes are held -------------------- */

Test(policy_learning, falls_when_the_window_must_end_its_holds) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play(&player, "200 100 r");
    EXPECT_TEXT("three times", play(&player, "200 x x x 100 r"), "more push~ ~ ~ plain .");
    EXPECT(!player.policy.nodelay_only);
    EXPECT_TEXT("too often", play(&player, "200 x x 100 r"), "more push~ ~ plain .");
    EXPECT(player.policy.nodelay_only);
    EXPECT_TEXT("TCP_NODELAY alone from then on", play_again(&player, 20, "200 100 r"),
                "plain plain .");
}

Test(policy_learning, rare_window_ends_are_forgiven) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play(&player, "200 100 r");
    for (int i = 0; i < 50; i++) {
        play(&player, "200 x 100 r");
        play_again(&player, 4, "200 100 r");
    }
    cr_expect(!player.policy.nodelay_only, "one turn in five");
}

Test(policy_learning, every_turn_ended_by_the_window_falls) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play(&player, "200 100 r");
    play_again(&player, 12, "200 x 100 r");
    EXPECT(player.policy.nodelay_only);
}

/* A server works for several windows on 16 requests that came in one read, and answers each in two writes. */
Test(policy_learning, answers_to_several_requests_stay_held) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play_again(&player, 20, "200 100 200 100 200 100 200 100 200 100 200 100 r");
    play_again(&player, 50, "200 100 200 100 x 200 100 200 100 x 200 100 200 100 r");
    EXPECT(!player.policy.nodelay_only);
    play_again(&player, 50, "200 100 200 100 x x 200 100 200 100 200 100 200 100 r");
    EXPECT(player.policy.nodelay_only); /* nothing was written between these two: it waited, unseen */
}

Test(policy_learning, work_behind_the_last_answer_falls) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play_again(&player, 20, "200 100 200 100 200 100 200 100 r");
    play_again(&player, 12, "200 100 200 100 200 100 x r");
    EXPECT(player.policy.nodelay_only);
}

Test(policy_learning, late_pieces_behind_quick_ones_fall) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play_again(&player, 20, "2 2 2 2 2 2 2 2 r");
    play_again(&player, 6, "2 2 2 2 2 x 2 x 2 x 2 r");
    EXPECT(player.policy.nodelay_only);
}

Test(policy_learning, only_auto_falls) {
    static const enum mode modes[] = {MODE_CORK, MODE_COALESCE};
    for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
        struct player player;
        player_start(&player, modes[m]);
        play_again(&player, 300, "200 x");
        cr_expect(!player.policy.nodelay_only, "%s was asked for", mode_names[modes[m]]);
    }
}

/* The model learns nothing from the cut of a turn by the window. */
Test(policy_learning, the_window_teaches_no_turn) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play_again(&player, 5, "2 2 2 r");
    struct turn_model before = player.policy.model;
    play(&player, "2 x");
    EXPECT(memcmp(&before, &player.policy.model, sizeof(before)) == 0);
}

/* ---- bursty ------------------------------------------------------------ */

static const struct {
    const char *name;
    enum mode mode;
    const char *script;
    bool bursty;
} bursty[] = {
    {"single writes", MODE_AUTO, "200 r 200 r", false},
    {"a burst in one turn", MODE_AUTO, "200 100 r", true},
    {"a burst of turns of one write", MODE_AUTO, "200 w 100 w 100 r", false},
    {"large writes", MODE_AUTO, "100000 100000 r", false},
    {"a corked burst", MODE_AUTO, "c 200 100 u r", false},
    {"off does not judge", MODE_OFF, "200 100 r", false},
};

Test(policy_learning, bursty) {
    EACH_ROW(row, bursty) {
        struct player player;
        player_start(&player, row->mode);
        play(&player, row->script);
        EXPECT_INT(row->name, player.policy.bursty, row->bursty);
    }
}

/* Earlier turns were cut at every wait, so they predict nothing about later ones. */
Test(policy_learning, health_is_forgotten_when_illness_shows) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play_again(&player, 50, "200 r");
    EXPECT_TEXT("the first burst", play(&player, "200 100 r"), "plain push+plain .");
    EXPECT_TEXT("the second", play(&player, "200 100 r"), "more plain .");
}

Test(policy_learning, follows_a_change_of_habit) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play_again(&player, 30, "2 2 r");
    EXPECT_TEXT("the first of four", play(&player, "2 2 2 2 r"), "more plain plain plain .");
    play_again(&player, 4, "2 2 2 2 r");
    EXPECT_TEXT("soon one segment", play(&player, "2 2 2 2 r"), "more more more plain .");
    EXPECT_TEXT("a single odd turn", play(&player, "2 r"), "more push.");
    EXPECT_TEXT("does not upset", play(&player, "2 2 2 2 r"), "more more more plain .");
}

Test(policy_learning, long_turns_stay_held) {
    struct player player;
    player_start(&player, MODE_AUTO);
    static const char forty[] = "2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 "
                                "2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 r";
    const char *answer = play_again(&player, 5, forty);
    int segments = 0;
    for (const char *plain = answer; (plain = strstr(plain, "plain")); plain++)
        segments++;
    cr_expect(segments <= 2, "40 writes a turn leave as %d segments: %s", segments, answer);
}

/* ---- messages that go on after a wait that returns at once --------------- */

static const struct {
    const char *name;
    enum mode mode;
    const char *script, *wanted;
} asking[] = {
    {"not known yet", MODE_AUTO, "200 ? w", "plain no |"},
    {"once is not enough", MODE_AUTO, "200 q 100 r 200 ?", "plain | push+plain . plain no"},
    {"twice in a row is", MODE_AUTO, "200 q 100 r 200 q 100 r 200 ?",
     "plain | push+plain . plain | plain . plain yes"},
    {"a wait that really waited does not count", MODE_AUTO, "200 w 100 r 200 w 100 r 200 ?",
     "plain | push+plain . plain | plain . plain no"},
    {"a message of one turn in between starts anew", MODE_AUTO,
     "200 q 100 r 200 r 200 q 100 r 200 ?",
     "plain | push+plain . plain . plain | plain . plain no"},
    {"asked, at once: the turn goes on, and next time too", MODE_AUTO,
     "200 q 100 r 200 q 100 r 200 a 100 r 200 ?",
     "plain | push+plain . plain | plain . plain / plain . more yes"},
    {"... and the last write of such a turn needs no question", MODE_AUTO,
     "200 q 100 r 200 q 100 r 200 a 100 r 200 a 100 ? r",
     "plain | push+plain . plain | plain . plain / plain . more / plain no ."},
    {"asked, nothing came: one less", MODE_AUTO, "200 q 100 r 200 q 100 r 200 b 100 ?",
     "plain | push+plain . plain | plain . plain | plain no"},
};

Test(policy_learning, asks_first) {
    EACH_ROW(row, asking) {
        struct player player;
        player_start(&player, row->mode);
        EXPECT_TEXT(row->name, play(&player, row->script), row->wanted);
    }
}

Test(policy_learning, a_kept_turn_is_kept_for_its_message_only) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play(&player, "200 q 100 r 200 q 100 r 200 a 100 r");
    EXPECT(!player.policy.kept_turn);
    EXPECT_TEXT("a message without a wait: forgotten", play(&player, "200 r 200 ?"),
                "more push. more no");
}

/* A poll for writability always goes first with timeout zero.  Its result must not let the next 255 waits of
 * a new connection do so too. */
Test(policy_learning, an_answer_without_a_question) {
    struct policy p = {.mode = MODE_AUTO, .established = true};
    policy_asked(&p, false);
    cr_expect(!policy_asks_first(&p), "goes_on is now %d", p.goes_on);
}

Test(policy_learning, two_vain_questions_end_the_habit) {
    struct policy p = {.goes_on = 2};
    policy_asked(&p, false);
    EXPECT_INT("one", p.goes_on, 1);
    policy_asked(&p, false);
    EXPECT_INT("none", p.goes_on, 0);
    policy_asked(&p, false);
    EXPECT_INT("it does not wrap", p.goes_on, 0);
}

Test(policy_learning, goes_on_does_not_wrap) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play_again(&player, 300, "200 q 100 r");
    EXPECT_TEXT("after 300 messages", play(&player, "200 ?"), "plain yes");
}

/* The first write of a turn failed with EAGAIN and the program polls: position 0.  The question
 * must not read outside the model. */
Test(policy_learning, asks_first_without_a_write) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play(&player, "200 q 100 r 200 q 100 r 200 a 100 r"); /* bursty, and goes on */
    ASSERT(player.policy.bursty && player.policy.goes_on >= 2);
    play(&player, "200e ?");
}

/* ---- input -------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t bytes, asked;
    bool pending;
} inputs[] = {
    {"a short read", 100, 8192, false},
    {"a full read", 8192, 8192, true},
    {"a full one of a page", 4096, 4096, true},
    {"a full one of less: a parser's, of a known length", 4095, 4095, false},
    {"a byte at a time", 1, 1, false},
    {"almost full", 8191, 8192, false},
};

Test(policy_learning, input) {
    EACH_ROW(row, inputs) {
        struct policy p = {.mode = MODE_AUTO,
                           .units = 3,
                           .smalls = 3,
                           .small_writes = 3,
                           .message_bytes = 300,
                           .turns = 2,
                           .one_way = true};
        policy_input(&p, row->bytes, row->asked, false);
        EXPECT_INT(row->name, p.input_pending, row->pending);
        cr_expect(p.input_ever && p.established && !p.one_way, "%s", row->name);
        EXPECT_INT(row->name, p.units + p.smalls + p.small_writes + p.message_bytes + p.turns, 0);
    }
}

/* coalesce: a write that is the whole turn by habit gains nothing by the buffer.  Where a second one comes,
 * it is buffered, and must not wait for Nagle. */
Test(policy_learning, a_single_write_is_let_go_by_habit) {
    struct player player;
    player_start(&player, MODE_COALESCE);
    EXPECT_TEXT("no habit yet", play_again(&player, HABIT, "200 r"), "buffer send.");
    EXPECT_TEXT("a habit", play(&player, "200 r"), "plain .");
    EXPECT_TEXT("a wait inside the message", play(&player, "200 w 100 r"), "plain | push+plain .");
    EXPECT_TEXT("of any size", play(&player, "5000 r"), "plain .");
}

static const struct {
    const char *name, *breaks, *answer;
    bool for_good;
} breaks[] = {
    {"a second small write", "200 100 r", "plain buffer push+send.", true},
    {"fifteen writes", "2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 r",
     "plain buffer buffer buffer buffer buffer buffer buffer buffer buffer buffer buffer buffer buffer "
     "buffer push+send.", true},
    {"a large one", "200 5000 r", "plain mss+plain .", false},
    {"input within the turn", "200 i 200 r", "plain , buffer push+send.", true},
};

Test(policy_learning, a_longer_turn_ends_the_habit_of_one_write) {
    EACH_ROW(row, breaks) {
        struct player player;
        player_start(&player, MODE_COALESCE);
        play_again(&player, HABIT, "200 r");
        EXPECT_TEXT(row->name, play(&player, row->breaks), row->answer);
        EXPECT_TEXT(row->name, play_again(&player, HABIT, "200 r"), "buffer send.");
        EXPECT_TEXT(row->name, play(&player, "200 r"), row->for_good ? "buffer send." : "plain .");
    }
}

/* Turns of one piece are no habit of turns of two. */
Test(policy_learning, a_habit_begins_anew_where_it_becomes_bursty) {
    struct player player;
    player_start(&player, MODE_AUTO);
    player.policy.quick_turns = 20;
    play(&player, "200");
    EXPECT_INT("one piece", player.policy.quick_turns, 20);
    play(&player, "100");
    EXPECT(player.policy.bursty);
    EXPECT_INT("two", player.policy.quick_turns, 0);
}
