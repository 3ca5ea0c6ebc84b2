/* SPDX-License-Identifier: MIT
 *
 * The application's own TCP_NODELAY, TCP_CORK and MSG_MORE are left alone; the end of its hold is
 * the end of a unit, which would stall under Nagle like any other.
 */
#include "player.h"
#include "unit.h"

static const struct {
    const char *name;
    enum mode mode;
    bool nodelay, override;
    const char *script, *wanted;
} rows[] = {
    {"its TCP_NODELAY: nothing to do", MODE_NODELAY, true, false, "200 100 r 200 100 r",
     "plain plain . plain plain ."},
    {"... in cork", MODE_CORK, true, false, "200 100 r", "plain plain ."},
    {"... in coalesce", MODE_COALESCE, true, false, "200 100 r", "plain plain ."},
    {"... in auto", MODE_AUTO, true, false, "200 100 r 200 100 r 200 100 r",
     "plain plain . plain plain . plain plain ."},
    {"... in observe: no stall, no suspicion", MODE_OBSERVE, true, false, "200 100 r",
     "plain plain ."},
    {"overridden, in nodelay: it is set, so nothing to do", MODE_NODELAY, true, true, "200 100 r",
     "plain plain ."},
    {"overridden, in cork", MODE_CORK, true, true, "200 100 r", "more more push."},
    {"overridden, in coalesce", MODE_COALESCE, true, true, "200 100 r", "buffer buffer send."},
    {"overridden, in auto: held once bursts are known", MODE_AUTO, true, true,
     "200 100 r 200 100 r", "plain plain . more plain ."},
    {"overridden one-way streams keep it", MODE_AUTO, true, true, "90 90 90 90 90 90 90 90 90 90",
     "plain plain plain plain plain plain plain plain plain plain"},

    {"its cork: one unit, no push", MODE_NODELAY, false, false, "c 200 100 u r",
     "[ plain plain ] ."},
    {"its second cork of a message is pushed at its end", MODE_NODELAY, false, false,
     "c 200 50 u c 200 50 u r", "[ plain plain ] [ plain plain push+] ."},
    {"... unless TCP_NODELAY is on by then", MODE_NODELAY, false, false, "200 100 c 100 50 u r",
     "plain push+plain [ plain plain ] ."},
    {"a small write, then a cork", MODE_NODELAY, false, false, "200 c 100 50 u r",
     "plain [ plain plain push+] ."},
    {"a cork, then a small write", MODE_NODELAY, false, false, "c 100 50 u 200 r",
     "[ plain plain ] push+plain ."},
    {"inside its cork nothing is held", MODE_CORK, false, false, "c 200 100 u r",
     "[ plain plain ] ."},
    {"... nor buffered", MODE_COALESCE, false, false, "c 200 100 u r", "[ plain plain ] ."},
    {"after its cork holds are ours again", MODE_CORK, false, false, "c 200 u 100 r",
     "[ plain ] more push."},
    {"observe suspects the end of a second cork", MODE_OBSERVE, false, false,
     "c 200 50 u c 200 50 u r", "[ plain plain ] [ plain plain ]! ."},
    {"its cork with a large message needs the MSS", MODE_NODELAY, false, false, "200 c 800 u r",
     "plain [ plain mss+push+] ."},
    {"small corks behind a large write are judged by their own size", MODE_NODELAY, false, false,
     "146000 c 200 u c 200 u r", "plain [ plain mss+] [ plain push+] ."},
    {"its cork stays, its TCP_NODELAY overridden", MODE_CORK, true, true, "c 200 100 u r",
     "[ plain plain ] ."},

    {"its MSG_MORE and the write that ends it are one unit", MODE_NODELAY, false, false,
     "200m 100 r", "plain plain ."},
    {"a second such unit is pushed at its end", MODE_NODELAY, false, false, "200m 100 200m 100 r",
     "plain plain plain push+plain ."},
    {"a small write, then such a unit", MODE_NODELAY, false, false, "50 200m 100 r",
     "plain plain push+plain ."},
    {"nothing of it is held", MODE_CORK, false, false, "200m 100m 100 r", "plain plain plain ."},
    {"nor buffered", MODE_COALESCE, false, false, "200m 100 r", "plain plain ."},
    {"after it holds are ours again", MODE_CORK, false, false, "200m 100 50 r",
     "plain plain more push."},
    {"in auto a known burst with its own MSG_MORE is left alone", MODE_AUTO, false, false,
     "200 100 r 200m 100 r", "plain push+plain . plain plain ."},
    {"what we hold stays held by its MSG_MORE", MODE_CORK, false, false, "200 100m r",
     "more plain push."},
};

Test(policy_alone, wishes) {
    EACH_ROW(row, rows) {
        struct player player;
        player_start(&player, row->mode);
        player.policy.app_nodelay = player.policy.nodelay = row->nodelay;
        player.limits.override = row->override;
        EXPECT_TEXT(row->name, play(&player, row->script), row->wanted);
    }
}

static const struct {
    const char *name;
    bool nodelay, cork, override, wanted;
} wishes[] = {
    {"none", false, false, false, false},
    {"TCP_NODELAY", true, false, false, true},
    {"TCP_CORK", false, true, false, true},
    {"both", true, true, false, true},
    {"none, overridden", false, false, true, false},
    {"TCP_NODELAY, overridden", true, false, true, false},
    {"TCP_CORK is never overridden", false, true, true, true},
};

Test(policy_alone, left_alone) {
    EACH_ROW(row, wishes) {
        struct policy p = {.app_nodelay = row->nodelay, .app_cork = row->cork};
        EXPECT_INT(row->name, policy_left_alone(&p, row->override), row->wanted);
    }
}

/* A connection met late: its options are asked when a decision needs them. */
static const struct {
    const char *name;
    enum mode mode;
    bool nodelay, cork;
    const char *script, *wanted;
} strangers[] = {
    {"health needs no question", MODE_NODELAY, false, false, "200 r 200 r", "plain . plain ."},
    {"nor do large writes", MODE_NODELAY, false, false, "100000 100000 r", "plain plain ."},
    {"the second small write does", MODE_NODELAY, false, false, "200 100 r 200 100 r",
     "plain opts+mss+push+plain . plain plain ."},
    {"... and finds TCP_NODELAY", MODE_NODELAY, true, false, "200 100 r 200 100 r",
     "plain opts+mss+plain . plain plain ."},
    {"... or TCP_CORK", MODE_NODELAY, false, true, "200 100 r 200 100 r",
     "plain opts+mss+plain . plain plain ."},
    {"nothing is held before they are known", MODE_CORK, false, false, "200 r 200 100 r 200 100 r",
     "plain . plain opts+mss+more push. more more push."},
    {"nor buffered", MODE_COALESCE, false, false, "200 r 200 100 r 200 100 r",
     "plain . plain opts+mss+buffer push+send. buffer buffer send."},
    {"nor after, where it is not wished", MODE_CORK, true, false, "200 100 r 200 100 r",
     "plain opts+mss+plain . plain plain ."},
};

Test(policy_alone, strangers) {
    EACH_ROW(row, strangers) {
        struct player player;
        player_start(&player, row->mode);
        player.policy.unsure = true;
        player.found_nodelay = row->nodelay;
        player.found_cork = row->cork;
        EXPECT_TEXT(row->name, play(&player, row->script), row->wanted);
    }
}

/* The question for the MSS may come at the end of a cork, and is asked once. */
Test(policy_alone, uncork_may_be_asked_twice) {
    struct policy p = {.mode = MODE_NODELAY,
                       .app_cork = true,
                       .units = 1,
                       .first_unit = 100,
                       .message_bytes = 900,
                       .pending = 900};
    struct policy_limits limits = {.small = 4096};
    struct policy_action action = policy_uncork(&p, &limits);
    EXPECT(action.need_facts && !action.late_push);
    EXPECT_INT("no unit yet", p.units, 1);
    p.mss = 1460;
    action = policy_uncork(&p, &limits);
    EXPECT(!action.need_facts && action.late_push);
    EXPECT_INT("now", p.units, 2);
    EXPECT(!p.app_cork);
}
