/* SPDX-License-Identifier: MIT
 *
 * Detection by message: when TCP_NODELAY is pushed late, and when it is not.
 */
#include <string.h>

#include "player.h"
#include "unit.h"

/* Words of scripts and answers: player.h */
static const struct {
    const char *name;
    enum mode mode;
    uint32_t mss; /* 0: 1460 */
    const char *script, *wanted;
} detections[] = {
    {"one write an exchange is health", MODE_NODELAY, 0, "200 r 200 r 200 r",
     "plain . plain . plain ."},
    {"the second small write of a message is pushed, once", MODE_NODELAY, 0,
     "200 100 r 200 100 r 200 100 50 r", "plain push+plain . plain plain . plain plain plain ."},
    {"... in auto too", MODE_AUTO, 0, "200 100 100 100", "plain push+plain plain plain"},
    {"a wait inside the message hides nothing", MODE_NODELAY, 0, "200 w 100 r",
     "plain | push+plain ."},
    {"nor does a wait that returns at once", MODE_NODELAY, 0, "200 q 100 r",
     "plain | push+plain ."},
    {"input begins a new message", MODE_NODELAY, 0, "200 i 100 i 100 r", "plain , plain , plain ."},
    {"the first exchange is healthy, the second is not", MODE_NODELAY, 0, "200 r 200 100 r",
     "plain . plain push+plain ."},
    {"off lets it be", MODE_OFF, 0, "200 100 r", "plain plain! ."},
    {"observe suspects it", MODE_OBSERVE, 0, "200 100 r 200 r", "plain plain! . plain ."},
    {"nothing is no write", MODE_NODELAY, 0, "200 0 100 r", "plain plain push+plain ."},

    {"two large writes", MODE_NODELAY, 0, "100000 100000 r", "plain plain ."},
    {"a large one with a small tail and a small one", MODE_NODELAY, 0, "100000 200 r",
     "plain mss+push+plain ."},
    {"a large one of whole segments and a small one", MODE_NODELAY, 0, "146000 200 r",
     "plain mss+plain ."},
    {"... and one more", MODE_NODELAY, 0, "146000 200 200 r", "plain mss+plain push+plain ."},
    {"a small one and a large one", MODE_NODELAY, 0, "200 100000 r", "plain plain ."},
    {"large, small, small", MODE_NODELAY, 0, "100000 200 100 r", "plain mss+push+plain plain ."},
    {"small, large, small", MODE_NODELAY, 0, "200 100000 100 r", "plain plain push+plain ."},

    {"below 536 bytes the MSS is not asked", MODE_NODELAY, 0, "535 535 r", "plain push+plain ."},
    {"the MSS is asked at the first suspicion", MODE_NODELAY, 0, "200 536 r",
     "plain mss+push+plain ."},
    {"... of the first write too", MODE_NODELAY, 0, "1000 100 r", "plain mss+push+plain ."},
    {"... once", MODE_NODELAY, 0, "1000 2000 r 1000 1000 r",
     "plain mss+plain . plain push+plain ."},
    {"one byte less than the MSS is small", MODE_NODELAY, 0, "1459 1459 r",
     "plain mss+push+plain ."},
    {"the MSS is not", MODE_NODELAY, 0, "1459 1460 r", "plain mss+plain ."},
    {"a first one of the MSS is not", MODE_NODELAY, 0, "1460 1459 r", "plain mss+plain ."},
    {"loopback: 40000 bytes are small", MODE_NODELAY, 65483, "40000 40000 r",
     "plain mss+push+plain ."},
    {"loopback: 65535 bytes are not", MODE_NODELAY, 65483, "65535 65535 r", "plain mss+plain ."},
    {"64 KiB and more need no question", MODE_NODELAY, 65483, "65536 65536 r", "plain plain ."},
    {"a single write of a message needs none", MODE_NODELAY, 0, "1000 r 1000 r", "plain . plain ."},
    {"observe judges by the MSS too", MODE_OBSERVE, 0, "200 1000 r", "plain mss+plain! ."},
    {"the smallest MSS", MODE_NODELAY, 536, "200 1000 200 r", "plain mss+plain push+plain ."},

    {"a write that failed has not ended a unit", MODE_NODELAY, 0, "200e 200 r", "plain plain ."},
    {"... of a second one: pushed before, not again", MODE_NODELAY, 0, "200 100e 100 r",
     "plain push+plain plain ."},
    {"... nor does it turn one small write after a large one into two", MODE_NODELAY, 0,
     "146000 200e 200 r", "plain mss+plain plain ."},
    {"... however often", MODE_NODELAY, 0, "200e 200e 200e 200e 200 r",
     "plain plain plain plain plain ."},
};

Test(policy_detection, messages) {
    EACH_ROW(row, detections) {
        struct player player;
        player_start(&player, row->mode);
        player.mss = row->mss ? row->mss : player.mss;
        EXPECT_TEXT(row->name, play(&player, row->script), row->wanted);
    }
}

/* On loopback the MSS was 32 741, 47 616, 63 488 and 65 483 in the first four exchanges of 200 B + 40 000 B.
 * Asked once, it made the second write a large one, which stalled in most exchanges. */
Test(policy_detection, an_mss_of_loopback_grows) {
    struct player player;
    player_start(&player, MODE_NODELAY);
    player.mss = 32741;
    EXPECT_TEXT("large", play(&player, "200 40000 r"), "plain mss+plain .");
    player.mss = 47616;
    EXPECT_TEXT("small", play(&player, "200 40000 r"), "plain mss+push+plain .");
}

Test(policy_detection, a_tail_is_known_once_the_mss_has_grown) {
    struct player player;
    player_start(&player, MODE_NODELAY);
    player.mss = 32768;
    EXPECT_TEXT("no tail", play(&player, "65536 5 r"), "plain mss+plain .");
    player.mss = 65483;
    EXPECT_TEXT("a tail", play(&player, "65536 5 r"), "plain mss+push+plain .");
}

Test(policy_detection, an_mss_that_stays_is_seldom_asked_again) {
    struct player player;
    player_start(&player, MODE_NODELAY);
    player.mss = 32768;
    int asked = 0;
    for (int i = 0; i < 200; i++)
        asked += strstr(play(&player, "200 40000 r"), "mss+") != NULL;
    EXPECT_INT("of 200 messages", asked, 8);
    player_start(&player, MODE_NODELAY);
    EXPECT_TEXT("not on a network", play_again(&player, 2, "200 14600 r"), "plain plain .");
}

Test(policy_detection, need_facts_changes_nothing) {
    struct policy p = {.mode = MODE_NODELAY,
                       .established = true,
                       .units = 1,
                       .first_unit = 700,
                       .message_bytes = 700,
                       .position = 2,
                       .turns = 1,
                       .small_writes = 1};
    struct policy before = p;
    struct policy_limits limits = {.small = 4096, .may_hold = true, .room = BUFFER_MOST};
    struct policy_write w = {.bytes = 100};
    struct policy_action action = policy_write(&p, &limits, &w);
    EXPECT(action.need_facts);
    EXPECT(!action.late_push && !action.new_message && !action.burst);
    cr_expect(memcmp(&p, &before, sizeof(p)) == 0, "a question is no write");
    p.mss = 1460;
    action = policy_write(&p, &limits, &w);
    EXPECT(!action.need_facts && action.late_push && action.ends_unit);
}

Test(policy_detection, an_uncertain_option_is_pushed_again) {
    struct player player;
    player_start(&player, MODE_NODELAY);
    player.policy.nodelay = true;
    player.policy.nodelay_uncertain = true;
    EXPECT_TEXT("each message", play(&player, "200 100 r 200 100 r 200 100 r"),
                "plain push+plain . plain push+plain . plain push+plain .");
}

/* A second program on the connection undoes at its end an option that the application has set meanwhile. */
static const struct {
    const char *name;
    enum mode mode;
    bool uncertain, cork;
    const char *wanted;
} kept[] = {
    {"left alone", MODE_AUTO, false, false, "plain plain plain ."},
    {"set again before the second small write", MODE_AUTO, true, false, "plain push+plain push+plain ."},
    {"in cork", MODE_CORK, true, false, "plain push+plain push+plain ."},
    {"observe changes nothing", MODE_OBSERVE, true, false, "plain plain plain ."},
    {"off changes nothing", MODE_OFF, true, false, "plain plain plain ."},
    {"a push would end the application's TCP_CORK", MODE_AUTO, true, true, "plain plain plain ."},
};

Test(policy_detection, the_applications_nodelay_is_set_again) {
    EACH_ROW(row, kept) {
        struct player player;
        player_start(&player, row->mode);
        player.policy.nodelay = player.policy.app_nodelay = true;
        player.policy.nodelay_uncertain = row->uncertain;
        player.policy.app_cork = row->cork;
        EXPECT_TEXT(row->name, play(&player, "200 100 100 r"), row->wanted);
    }
}

Test(policy_detection, nodelay_found_in_place_needs_no_push) {
    struct player player;
    player_start(&player, MODE_NODELAY);
    player.policy.nodelay = true; /* the kernel has it, the application did not ask for it */
    EXPECT_TEXT("in place", play(&player, "200 100 r"), "plain plain .");
}

/* ---- counts -------------------------------------------------- */

static const struct {
    const char *name;
    enum mode mode;
    size_t writes[5];
    const char *wanted; /* for each write: m a message begins, b it becomes a burst, - neither */
} counts[] = {
    {"one small write", MODE_NODELAY, {200}, "m"},
    {"the second small one makes a burst, the third does not again",
     MODE_NODELAY,
     {200, 100, 50},
     "mb-"},
    {"large ones make none", MODE_NODELAY, {100000, 100000, 100000}, "m--"},
    {"two small ones around a large one", MODE_NODELAY, {200, 100000, 200}, "m-b"},
    {"held ones count", MODE_CORK, {200, 100, 50}, "mb-"},
    {"buffered ones count", MODE_COALESCE, {200, 100, 50}, "mb-"},
    {"in off too", MODE_OFF, {200, 100, 50}, "mb-"},
    {"an empty write is none", MODE_NODELAY, {0, 200, 0, 100}, "-m-b"},
};

Test(policy_detection, counts) {
    EACH_ROW(row, counts) {
        struct policy p = {.mode = (uint8_t)row->mode, .established = true, .mss = 1460};
        struct policy_limits limits = {.small = 4096, .may_hold = true, .room = BUFFER_MOST};
        char got[8] = "";
        policy_turn_begins(&p, false);
        for (size_t i = 0; row->wanted[i]; i++) {
            struct policy_write w = {.bytes = row->writes[i]};
            p.position++;
            struct policy_action action = policy_write(&p, &limits, &w);
            got[i] = action.burst ? 'b' : action.new_message ? 'm' : '-';
        }
        EXPECT_TEXT(row->name, got, row->wanted);
    }
}

/* A large write that failed takes no small one with it. */
Test(policy_detection, failed_large_write_counts_nothing) {
    struct policy p = {.mode = MODE_NODELAY, .established = true, .mss = 1460};
    struct policy_limits limits = {.small = 4096, .may_hold = true, .room = BUFFER_MOST};
    struct policy_write small = {.bytes = 100}, large = {.bytes = 100000};
    policy_write(&p, &limits, &small);
    struct policy_action action = policy_write(&p, &limits, &large);
    policy_unsent(&p, &action, large.bytes);
    EXPECT(policy_write(&p, &limits, &small).burst);
}

/* A message of more bytes or writes than a counter holds stays one message. */
Test(policy_detection, counters_do_not_wrap) {
    struct player player;
    player_start(&player, MODE_NODELAY);
    play(&player, "r");
    play_again(&player, 70000, "1");
    EXPECT_INT("70000 writes of a byte", player.policy.units, UINT16_MAX);
    EXPECT_INT("70000 writes of a byte", player.policy.small_writes, UINT16_MAX);
    EXPECT(player.policy.nodelay);
    play_again(&player, 70000, "1000000");
    struct policy_write w = {.bytes = 100};
    struct policy_action action = policy_write(&player.policy, &player.limits, &w);
    cr_expect(!action.new_message, "4.6 GB and no input: still the same message");
    cr_expect(player.policy.message_bytes >= UINT32_MAX - UINT16_MAX,
              "the bytes of a message wrapped to %u", player.policy.message_bytes);
}

/* ---- one-way streams --------------------------------------------------- */

static const struct {
    const char *name;
    enum mode mode;
    const char *script, *wanted;
} streams[] = {
    {"auto gives a one-way stream back to Nagle at the eighth, once", MODE_AUTO,
     "90 90 90 90 90 90 90 90 90 90 90",
     "plain push+plain plain plain plain plain plain back+plain plain plain plain"},
    {"... with waits in between", MODE_AUTO, "90 w 90 w 90 w 90 w 90 w 90 w 90 w 90 w 90 w 90",
     "plain | push+plain | plain | plain | plain | plain | plain | back+plain | plain | plain"},
    {"input makes it a conversation: cured, then held", MODE_AUTO,
     "90 90 90 90 90 90 90 90 90 r 90 90 w 90 90 r",
     "plain push+plain plain plain plain plain plain back+plain plain . more more push| "
     "more more push."},
    {"a conversation from the first is no stream", MODE_AUTO,
     "90 r 90 w 90 w 90 w 90 w 90 w 90 w 90 w 90 w 90",
     "plain . plain | push+plain | plain | plain | plain | plain | plain | plain | plain"},
    {"large writes are no stream of small ones, but leave a small tail", MODE_AUTO,
     "9000 9000 9000 9000 9000 9000 9000 9000 90 90",
     "plain mss+plain plain plain plain plain plain plain push+plain plain"},
    {"nodelay keeps it", MODE_NODELAY, "90 90 90 90 90 90 90 90 90 90",
     "plain push+plain plain plain plain plain plain plain plain plain"},
};

Test(policy_detection, one_way) {
    EACH_ROW(row, streams) {
        struct player player;
        player_start(&player, row->mode);
        EXPECT_TEXT(row->name, play(&player, row->script), row->wanted);
    }
}

Test(policy_detection, one_way_is_not_held) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play_again(&player, 4, "90 90 90 90 w");
    EXPECT_TEXT("a stream in bursts", play(&player, "90 90 90 w"), "plain plain plain |");
    cr_expect(!player.policy.nodelay, "Nagle protects the network");
}

/* Writes that fail while nothing has been answered are not sent, hence no stream. */
Test(policy_detection, failed_writes_make_no_stream) {
    struct player player;
    player_start(&player, MODE_AUTO);
    play_again(&player, 8, "200e");
    EXPECT_TEXT("eight times EAGAIN, then a burst", play(&player, "200 100"), "plain push+plain");
}

/* The first write of a message passes in the modes that act at the second one. */
Test(policy_detection, what_waits_for_the_second) {
    static const bool waits[MODE_COUNT] = {[MODE_NODELAY] = true, [MODE_AUTO] = true};
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        struct policy p = {.mode = (uint8_t)mode};
        EXPECT_INT(mode_names[mode], policy_waits_for_second(&p), waits[mode]);
        p = (struct policy){.mode = (uint8_t)mode, .bursty = true};
        EXPECT_INT("bursty", policy_waits_for_second(&p), mode == MODE_NODELAY);
        const struct policy begun[] = {
            {.mode = (uint8_t)mode, .units = 1},
            {.mode = (uint8_t)mode, .smalls = 1},
            {.mode = (uint8_t)mode, .pending = 1},
            {.mode = (uint8_t)mode, .app_more = true},
        };
        for (size_t i = 0; i < ARRAY_SIZE(begun); i++)
            cr_expect(!policy_waits_for_second(&begun[i]), "%s, %zu", mode_names[mode], i);
    }
}

/* ---- messages that cross ------------------------------------------------ */

/* Exact reads, each of which finds its bytes there.  Returns how many of `n` messages ask the kernel. */
static int crossing_questions(struct policy *p, int n, size_t asked, bool at_once) {
    const struct policy_limits limits = {.small = 4096, .may_hold = true};
    int questions = 0;
    for (int i = 0; i < n; i++) {
        policy_input(p, 20, asked, at_once);
        policy_input(p, 20, asked, false); /* the rest of it changes nothing */
        policy_turn_begins(p, false);
        p->position++;
        questions += policy_write(p, &limits, &(struct policy_write){.bytes = 100}).crossing;
        policy_turn_ends(p);
    }
    return questions;
}

static struct policy answering(enum mode mode) {
    return (struct policy){.mode = (uint8_t)mode, .established = true, .mss = 1448};
}

Test(policy_detection, the_signs_of_a_crossing_back_off) {
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        bool asks = mode != MODE_OFF && mode != MODE_CORK; /* which holds it instead */
        struct policy p = answering((enum mode)mode);
        int n = crossing_questions(&p, 1000, 20, true);
        if (asks)
            cr_expect(n >= 1000 / 16 && n <= 8 + 1000 / 16 + 2, "%s: %d", mode_names[mode], n);
        else
            EXPECT_INT(mode_names[mode], n, 0);
        p = answering((enum mode)mode);
        EXPECT_INT("reads that wait", crossing_questions(&p, 100, 20, false), 0);
        p = answering((enum mode)mode);
        EXPECT_INT("reads with room", crossing_questions(&p, 100, 4096, true), 0);
        p = answering((enum mode)mode);
        p.app_nodelay = p.nodelay = true;
        EXPECT_INT("TCP_NODELAY of its own", crossing_questions(&p, 100, 20, true), 0);
        p = answering((enum mode)mode);
        p.crosses = true;
        EXPECT_INT("once it was seen", crossing_questions(&p, 100, 20, false), asks ? 99 : 0);
    }
}
