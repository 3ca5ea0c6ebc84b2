/* SPDX-License-Identifier: MIT
 *
 * Policy is pure, so its tests are tables: a script of an application's calls on one connection, and the
 * answers of policy.  Then properties, over random scripts, random states and a model of Nagle's algorithm.
 *
 * The player acts as the shim would: opens and ends turns, answers the question for the MSS, sets
 * TCP_NODELAY, holds and buffers.  Script, words with one space between:
 *   200   a write of 200 bytes          200m  ... with MSG_MORE
 *   200s  ... that is special           200e  ... that fails with EAGAIN
 *   r     wait, then read all there is  R     wait, then fill the reader's buffer
 *   i     input, read by another thread
 *   w     a wait                        q     a wait that returned at once
 *   x     the window ends               c, u  the application's TCP_CORK on, off
 *   a     asked first: at once          b     asked first: nothing, so the real wait
 *   ?     would the next wait be asked first?
 *   6*(…) the script within, six times, with the answer to the last time
 *
 * Answer, a word for each of the script's:
 *   plain, more, buffer   how the write leaves; before it mss+ (asked), opts+ (the application's
 *                         options asked), push+ (TCP_NODELAY=1), back+ (the application's own
 *                         value); after it, and after ], ! (suspected)
 *   . , | ~ [ ] /         r and R; i; w, q and b; x; c; u; a; before it push (held bytes let go),
 *                         send or push+send (buffered bytes let go)
 *   yes, no               to ?
 */

#include "chance.h"
#include "log.h"
#include "policy.h"
#include "unit.h"

struct player {
    struct policy policy;
    struct policy_limits limits;
    uint32_t mss;         /* the kernel's answer */
    struct policy found;  /* ... of the application's options */
    bool held;
    size_t buffered;
    bool turn;  /* one is open */
    bool quick; /* the last one ended at a wait that returned at once */
    unsigned smalls; /* units of this message that Nagle sees as small ones */
    unsigned writes, small_writes; /* of this message */
    bool stalls;     /* such a one has left behind another, with TCP_NODELAY off */
    struct text trace;
    char buffer[4096];
};

/* An established connection, nothing known of it, SMALL 4096, MSS 1460. */
static void start(struct player *player, enum mode mode) {
    memset(player, 0, sizeof(*player));
    player->policy.mode = (uint8_t)mode;
    player->policy.established = true;
    player->limits = (struct policy_limits){.small = 4096, .may_hold = true, .room = BUFFER_MOST};
    player->mss = 1460;
}

static void say(struct player *player, const char *what) {
    text_add(&player->trace, what);
}

static void prepare(struct player *player, const struct policy_action *action) {
    if (action->back_to_app) {
        player->policy.nodelay = player->policy.app_nodelay;
        say(player, "back+");
    }
    if (action->late_push) {
        player->policy.nodelay = true;
        say(player, "push+");
    }
}

/* As the kernel's Nagle sees it, but for the answer of a peer: the small segment of a unit waits while that
 * of another one is in flight. */
static void leaves(struct player *player, size_t bytes) {
    if (bytes == 0 || bytes % player->mss == 0)
        return;
    bool last_is_small = bytes < player->mss; /* behind a large one's full segments an answer comes at once */
    player->stalls |= last_is_small && player->smalls > 0 && !player->policy.nodelay;
    player->smalls++;
}

static void ask_facts(struct player *player) {
    struct policy *p = &player->policy;
    if (p->unsure) {
        p->unsure = false;
        p->app_nodelay = p->nodelay = player->found.app_nodelay;
        p->app_cork = player->found.app_cork;
        say(player, "opts+");
    }
    if (p->mss == 0) {
        p->mss = player->mss;
        say(player, "mss+");
    }
}

#define ASK(player, action, question)           \
    do {                                        \
        (action) = (question);                  \
        if ((action).need_facts) {              \
            ask_facts(player);                  \
            (action) = (question);              \
        }                                       \
        prepare(player, &(action));             \
    } while (0)

static void let_go(struct player *player) {
    if (player->held) {
        player->held = false;
        player->policy.nodelay = true;
        say(player, "push");
    }
    if (player->buffered == 0)
        return;
    struct policy_action action;
    ASK(player, action, policy_release(&player->policy, &player->limits, player->buffered));
    leaves(player, player->buffered);
    player->buffered = 0;
    say(player, "send");
}

static void end_turn(struct player *player) {
    let_go(player);
    if (player->turn)
        policy_turn_ends(&player->policy);
    player->turn = false;
}

static void one_write(struct player *player, size_t bytes, char kind) {
    static const char *const names[] = {"plain", "more", "buffer"};
    struct policy *p = &player->policy;
    struct policy_write w = {bytes, kind == 'm', kind == 's'};
    if (!player->turn)
        policy_turn_begins(p, player->quick);
    player->turn = true;
    player->quick = false;
    p->position++;
    p->buffer_limit = BUFFER_MOST;
    if (p->message_bytes == 0)
        p->sndbuf_maybe_full = false; /* the kernel, asked by the shim, has room */
    size_t unit = bytes + p->pending + player->buffered;
    struct policy_action action;
    ASK(player, action, policy_write(p, &player->limits, &w));
    say(player, names[action.how]);
    if (action.suspected)
        say(player, "!");
    if (kind == 'e') {
        policy_unsent(p, &action, bytes);
        return;
    }
    bool small = bytes > 0 && bytes < (p->mss ? p->mss : player->limits.small + 1);
    EXPECT_INT("a message begins", action.new_message, bytes > 0 && player->writes == 0);
    EXPECT_INT("it becomes a burst", action.burst, small && player->small_writes == 1);
    player->writes += bytes > 0;
    player->small_writes += small;
    if (action.ends_unit)
        leaves(player, unit);
    player->held = action.how == WRITE_MORE || (player->held && w.more);
    player->buffered = action.how == WRITE_COALESCE ? player->buffered + bytes : 0;
}

static void input(struct player *player, size_t bytes) {
    policy_input(&player->policy, bytes, 8192, false);
    player->writes = player->small_writes = 0;
    if (player->policy.units == 0)
        player->smalls = 0;
}

static void step(struct player *player, const char *word) {
    struct policy *p = &player->policy;
    struct policy_action action;
    char *end;
    size_t bytes = strtoul(word, &end, 10), unit;
    if (end != word) {
        one_write(player, bytes, *end);
        return;
    }
    switch (*word) {
    case 'r':
    case 'R':
        end_turn(player);
        input(player, *word == 'R' ? 8192 : 100);
        say(player, ".");
        break;
    case 'i':
        input(player, 100);
        say(player, ",");
        break;
    case 'w':
    case 'q':
        end_turn(player);
        player->quick = *word == 'q';
        say(player, "|");
        break;
    case 'x':
        let_go(player);
        policy_window_ended(p, false);
        say(player, "~");
        break;
    case 'c':
        let_go(player);
        p->app_cork = true;
        say(player, "[");
        break;
    case 'u':
        unit = p->pending;
        ASK(player, action, policy_uncork(p, &player->limits));
        if (action.ends_unit)
            leaves(player, unit);
        say(player, action.suspected ? "]!" : "]");
        break;
    case 'a':
    case 'b':
        policy_asked(p, *word == 'a');
        if (*word == 'b')
            end_turn(player);
        say(player, *word == 'a' ? "/" : "|");
        break;
    case '?': say(player, policy_asks_first(p) ? "yes" : "no"); break;
    default: abort(); /* a slip of the pen in a script */
    }
}

static const char *play_once(struct player *player, const char *script) {
    player->trace = (struct text){player->buffer, sizeof(player->buffer), 0};
    player->buffer[0] = '\0';
    for (const char *word = script; word; word = strchr(word, ' ')) {
        if (word != script) {
            word++;
            say(player, " ");
        }
        step(player, word);
    }
    return player->buffer;
}

/* Plays "200 r 12*(200 r) 200 100 r" in its parts; returns the answer to the last of them. */
static const char *play(struct player *player, const char *script) {
    static char part[1024];
    const char *answer = "";
    while (*script) {
        const char *group = strstr(script, "*("), *end = strchr(script, ')');
        while (group && group > script && group[-1] != ' ')
            group--;
        size_t times = group == script ? strtoul(script, NULL, 10) : 1;
        const char *from = group == script ? strchr(script, '(') + 1 : script;
        if (group != script)
            end = group ? group - 1 : script + strlen(script);
        snprintf(part, sizeof(part), "%.*s", (int)(end - from), from);
        while (times-- > 0)
            answer = play_once(player, part);
        script = end + strspn(end, ") ");
    }
    return answer;
}

#define OFF      MODE_OFF
#define OBSERVE  MODE_OBSERVE
#define NODELAY  MODE_NODELAY
#define CORK     MODE_CORK
#define COALESCE MODE_COALESCE
#define AUTO     MODE_AUTO

#define FIFTEEN(what) what " " what " " what " " what " " what " " what " " what " " what " " what " " what \
                      " " what " " what " " what " " what " " what

static const struct {
    const char *name;
    enum mode mode;
    const char *script, *wanted;
} scripts[] = {
    /* ---- detection by message: when TCP_NODELAY is pushed late, and when it is not ---- */
    {"the second small write of a message is pushed, once", NODELAY, "200 100 r 200 100 50 r",
     "plain push+plain . plain plain plain ."},
    {"... in auto too", AUTO, "200 100 100", "plain push+plain plain"},
    {"a wait inside the message hides nothing", NODELAY, "200 w 100 r", "plain | push+plain ."},
    {"input begins a new message", NODELAY, "200 i 100 i 100 r", "plain , plain , plain ."},
    {"off lets it be", OFF, "200 100 r", "plain plain! ."},
    {"observe suspects it", OBSERVE, "200 100 r 200 r", "plain plain! . plain ."},
    {"a large one with a small tail and a small one", NODELAY, "100000 200 100 r",
     "plain mss+push+plain plain ."},
    {"a large one of whole segments and small ones", NODELAY, "146000 200 200 r",
     "plain mss+plain push+plain ."},
    {"small, large, small", NODELAY, "200 100000 100 r", "plain plain push+plain ."},
    {"below 536 bytes the MSS is not asked", NODELAY, "535 535 r", "plain push+plain ."},
    {"the MSS is asked at the first suspicion", NODELAY, "200 536 r", "plain mss+push+plain ."},
    {"one byte less than the MSS is small", NODELAY, "1459 1459 r", "plain mss+push+plain ."},
    {"the MSS is not", NODELAY, "1459 1460 r", "plain mss+plain ."},
    {"a first one of the MSS is not", NODELAY, "1460 1459 r", "plain mss+plain ."},
    {"a write that failed has not ended a unit", NODELAY, "3*(200e) 200 r", "plain ."},
    {"... of a second one: pushed before, not again", NODELAY, "200 100e 100 r", "plain push+plain plain ."},
    {"... does not make two small ones of one behind a large one", NODELAY, "146000 200e 200 r",
     "plain mss+plain plain ."},
    {"a large one that failed takes no small one with it", NODELAY, "200 100000e 200",
     "plain plain push+plain"},
    /* ---- one-way streams ---- */
    {"auto gives a one-way stream back to Nagle at the eighth, once", AUTO, "90 90 90 90 90 90 90 90 90 90",
     "plain push+plain plain plain plain plain plain back+plain plain plain"},
    {"... with waits in between", AUTO, "90 w 90 w 90 w 90 w 90 w 90 w 90 w 90 w 90 w",
     "plain | push+plain | plain | plain | plain | plain | plain | back+plain | plain |"},
    {"... and it is not held", AUTO, "4*(90 90 90 90 w) 90 90 90 w", "plain plain plain |"},
    {"a conversation from the first is no stream", AUTO, "90 r 90 w 90 w 90 w 90 w 90 w 90 w 90 w 90 w 90",
     "plain . plain | push+plain | plain | plain | plain | plain | plain | plain | plain"},
    {"large writes are none, but leave a small tail", AUTO, "8*(9000) 90 90", "push+plain plain"},
    {"writes that fail make none", AUTO, "8*(200e) 200 100", "plain push+plain"},
    /* ---- holding by turn ---- */
    {"off never", OFF, "2*(200 100 r) 200 100", "plain plain!"},
    {"cork until read", CORK, "200 100 r 200 r", "more more push. more push."},
    {"cork: the limit is SMALL", CORK, "4096 r 4097 r", "more push. plain ."},
    {"cork: a large write takes with it what was held, as the first unit", CORK, "200 100000 200 r",
     "more plain more push."},
    {"cork: special writes are not held", CORK, "200 1s r", "more plain ."},
    {"cork: an empty write is not held", CORK, "0 r", "plain ."},
    {"coalesce until read", COALESCE, "200 100 r 200 r", "buffer buffer send. buffer send."},
    {"coalesce: a second unit must not wait for Nagle", COALESCE, "200 w 100 r 200 w 100 r",
     "buffer send| buffer push+send. buffer send| buffer send."},
    {"coalesce: a second unit of unknown size asks for the MSS", COALESCE, "600 400 w 300 r",
     "buffer buffer send| buffer mss+push+send."},
    {"coalesce: the limit of a write is SMALL", COALESCE, "4096 4097 r", "buffer plain ."},
    {"coalesce: and 16 KiB of a message", COALESCE, "4096 4096 4096 4095 1 1 r 1 r",
     "buffer buffer buffer buffer buffer plain . buffer send."},
    {"auto starts with a late push, then holds and foretells", AUTO, "200 100 r 200 100 r 200 100 r",
     "plain push+plain . more plain . more plain ."},
    {"auto: fifteen writes are one segment from the second turn on", AUTO, "r 2*(" FIFTEEN("2") " r)",
     "more more more more more more more more more more more more more more plain ."},
    {"auto: a turn shorter than foretold is pushed", AUTO, "2 2 2 r 2 2 r 2 2 2 r",
     "plain push+plain plain . more more push. more more plain ."},
    {"auto: a turn longer than foretold costs a segment", AUTO, "2 2 r 2 2 2 r 2 2 r",
     "plain push+plain . more plain plain . more plain ."},
    {"auto: a connection in health is not held", AUTO, "4*(200 r)", "plain ."},
    {"auto: while input is pending nothing is held", AUTO, "200 100 R 200 100 r 200 100 r",
     "plain push+plain . plain plain . more plain ."},
    {"auto: nothing is held before the first input", AUTO, "2*(200 100 w) 200 100", "plain plain"},
    {"auto: larger than SMALL is not held", AUTO, "200 100 r 5000 100 r",
     "plain push+plain . plain mss+plain ."},
    /* ---- the application's own TCP_NODELAY, TCP_CORK and MSG_MORE ---- */
    {"its cork: one unit, no push", NODELAY, "c 200 100 u r", "[ plain plain ] ."},
    {"its second cork of a message is pushed at its end", NODELAY, "c 200 50 u c 200 50 u r",
     "[ plain plain ] [ plain plain push+] ."},
    {"... unless TCP_NODELAY is on by then", NODELAY, "200 100 c 100 50 u r",
     "plain push+plain [ plain plain ] ."},
    {"a small write, then a cork", NODELAY, "200 c 100 50 u r", "plain [ plain plain push+] ."},
    {"observe suspects the end of a second cork", OBSERVE, "c 200 50 u c 200 50 u r",
     "[ plain plain ] [ plain plain ]! ."},
    {"its cork with a large message needs the MSS", NODELAY, "200 c 800 u r", "plain [ plain mss+push+] ."},
    {"small corks behind a large write are judged by their own size", NODELAY, "146000 c 200 u c 200 u r",
     "plain [ plain mss+] [ plain push+] ."},
    {"its MSG_MORE and the write that ends it are one unit", NODELAY, "200m 100 r", "plain plain ."},
    {"a small write, then such a unit", NODELAY, "50 200m 100 r", "plain plain push+plain ."},
    {"... of several segments, whose acknowledgement has released the tail", NODELAY, "3000m 100 r",
     "plain mss+push+plain ."},
    {"... of full segments only", NODELAY, "4380m 100 r", "plain mss+plain ."},
    {"nothing of it is held; after it holds are ours again", CORK, "200m 100m 100 50 r",
     "plain plain plain more push."},
    {"in auto a known burst with its own MSG_MORE is left alone", AUTO, "200 100 r 200m 100 r",
     "plain push+plain . plain plain ."},
    {"what we hold stays held by its MSG_MORE", CORK, "200 100m r", "more plain push."},
    /* ---- the past of a connection ---- */
    {"the window must end its holds: seldom enough", AUTO, "200 100 r 200 x x x 100 r 200 100",
     "plain push+plain . more push~ ~ ~ plain . more plain"},
    {"... too often: TCP_NODELAY alone from then on", AUTO,
     "200 100 r 200 x x x 100 r 200 x x 100 r 9*(200 100 r)", "plain plain ."},
    {"... one turn in five is forgiven", AUTO,
     "200 100 r 50*(200 x 100 r 200 100 r 200 100 r 200 100 r 200 100 r)",
     "more push~ plain . more plain . more plain . more plain . more plain ."},
    {"... each turn is not", AUTO, "200 100 r 12*(200 x 100 r) 200 100", "plain plain"},
    {"answers to several requests, each joined within a window, stay held", AUTO,
     "20*(2 1 2 1 2 1 2 1 2 1 2 1 r) 50*(2 1 2 1 x 2 1 2 1 x 2 1 2 1 r)",
     "more more more more push~ more more more more push~ more more more plain ."},
    {"... two windows in a row without a write between them: it waited, unseen", AUTO,
     "20*(2 1 2 1 2 1 2 1 2 1 2 1 r) 50*(2 1 2 1 x x 2 1 2 1 2 1 2 1 r) 2 1 r", "plain plain ."},
    {"work behind the last answer is not forgiven", AUTO, "20*(2 1 2 1 2 1 2 1 r) 12*(2 1 2 1 2 1 x r) 2 1 r",
     "plain plain ."},
    {"nor are late pieces behind quick ones", AUTO,
     "20*(2 2 2 2 2 2 2 2 r) 6*(2 2 2 2 2 x 2 x 2 x 2 r) 2 1 r", "plain plain ."},
    {"large writes make a burst of a cured one", AUTO, "200 w 100 r 2*(5000 5000 r) 200 r", "more push."},
    {"health is forgotten when illness shows", AUTO, "50*(200 r) 200 100 r 200 100 r",
     "plain push+plain . more plain ."},
    {"a burst in a cork of its own makes no burst", AUTO, "c 200 100 u r 200 100 r 2*(c 200 100 u r) 200",
     "more"},
    {"a change of habit is followed", AUTO, "30*(2 2 r) 5*(2 2 2 2 r) 2 2 2 2 r", "more more more plain ."},
    {"coalesce: a single write is let go by habit", COALESCE, "16*(200 r) 200 r 200 w 100 r 5000 r",
     "plain . plain | push+plain . plain ."},
    {"coalesce: a second small write ends that habit for good", COALESCE,
     "16*(200 r) 200 100 r 16*(200 r) 200 r", "buffer send."},
    {"coalesce: ... a large one for a while", COALESCE, "16*(200 r) 200 5000 r 16*(200 r)", "buffer send."},
    {"coalesce: ... and no longer", COALESCE, "16*(200 r) 200 5000 r 16*(200 r) 200 r", "plain ."},
    {"coalesce: input within the turn acknowledges nothing", COALESCE, "16*(200 r) 200 i 200 r",
     "plain , buffer push+send."},
    /* ---- messages that go on after a wait that returns at once ---- */
    {"asked first: not known yet", AUTO, "200 ? w", "plain no |"},
    {"once is not enough", AUTO, "200 q 100 r 200 ?", "plain | push+plain . plain no"},
    {"twice in a row is", AUTO, "2*(200 q 100 r) 200 ?", "plain yes"},
    {"a wait that really waited does not count", AUTO, "2*(200 w 100 r) 200 ?", "plain no"},
    {"a message of one turn in between starts anew", AUTO, "200 q 100 r 200 r 200 q 100 r 200 ?",
     "plain | push+plain . plain . plain | plain . plain no"},
    {"asked, at once: the turn goes on, and next time too", AUTO, "2*(200 q 100 r) 200 a 100 r 200 ?",
     "plain / plain . more yes"},
    {"... and the last write of such a turn needs no question", AUTO,
     "2*(200 q 100 r) 200 a 100 r 200 a 100 ? r", "plain / plain . more / plain no ."},
    {"... for its message only", AUTO, "2*(200 q 100 r) 200 a 100 r 200 r 200 ?",
     "plain / plain . more push. more no"},
    {"asked, nothing came: one less", AUTO, "2*(200 q 100 r) 200 b 100 ?", "plain | plain no"},
    {"an answer without a question", AUTO, "b ?", "| no"},
    {"no write yet", AUTO, "2*(200 q 100 r) 200 a 100 r 200e ?", "plain / plain . more yes"},
};

static const struct {
    const char *name;
    enum mode mode;
    const char *script, *wanted;
    struct policy is;
    uint32_t mss; /* 0: 1460 */
    bool override;
} states[] = {
    {"a unit of whole segments is not small", NODELAY, "200 100 1460 r", "plain push+plain plain .", .is =
     {.nodelay = true, .nodelay_uncertain = true, .mss = 1460}},
    {"loopback: 65535 bytes are not", NODELAY, "65535 65535 r", "plain mss+plain .", .mss = 65483},
    {"the smallest MSS", NODELAY, "200 1000 200 r", "plain mss+plain push+plain .", .mss = 536},
    {"found in place: no push", NODELAY, "200 100 r", "plain plain .", .is = {.nodelay = true}},
    {"another process may have cleared it: pushed again, each message", NODELAY, "2*(200 100 r)",
     "plain push+plain .", .is = {.nodelay = true, .nodelay_uncertain = true}},
    {"... the application's, too", AUTO, "200 100 100 r", "plain push+plain push+plain .", .is = {.nodelay =
     true, .app_nodelay = true, .nodelay_uncertain = true}},
    {"... observe changes nothing", OBSERVE, "200 100 100 r", "plain plain plain .", .is = {.nodelay = true,
     .app_nodelay = true, .nodelay_uncertain = true}},
    {"... a push would end the application's TCP_CORK", AUTO, "200 100 100 r", "plain plain plain .", .is =
     {.nodelay = true, .app_nodelay = true, .nodelay_uncertain = true, .app_cork = true}},
    {"its TCP_NODELAY: nothing to do", NODELAY, "200 100 r", "plain plain .", .is = {.app_nodelay = true,
     .nodelay = true}},
    {"... in auto", AUTO, "3*(200 100 r)", "plain plain .", .is = {.app_nodelay = true, .nodelay = true}},
    {"... in observe: no suspicion", OBSERVE, "200 100 r", "plain plain .", .is = {.app_nodelay = true,
     .nodelay = true}},
    {"overridden, in auto: held once bursts are known", AUTO, "200 100 r 200 100 r",
     "plain plain . more plain .", .is = {.app_nodelay = true, .nodelay = true}, .override = true},
    {"overridden one-way streams keep it", AUTO, "9*(90) 90 90", "plain plain", .is = {.app_nodelay = true,
     .nodelay = true}, .override = true},
    {"health needs no question", NODELAY, "200 r 100000 100000 r", "plain . plain plain .", .is = {.unsure =
     true}},
    {"the second small write does", NODELAY, "200 100 r 200 100 r",
     "plain opts+mss+push+plain . plain plain .", .is = {.unsure = true}},
    {"nothing is held before they are known", CORK, "200 r 200 100 r 200 100 r",
     "plain . plain opts+mss+more push. more more push.", .is = {.unsure = true}},
    {"nor buffered", COALESCE, "200 r 200 100 r 200 100 r",
     "plain . plain opts+mss+buffer push+send. buffer buffer send.", .is = {.unsure = true}},
};

Test(policy, scripts) {
    EACH_ROW(row, scripts) {
        struct player player;
        start(&player, row->mode);
        EXPECT_TEXT(row->name, play(&player, row->script), row->wanted);
    }
}

Test(policy, states) {
    EACH_ROW(row, states) {
        struct player player;
        start(&player, row->mode);
        player.policy = row->is;
        player.policy.mode = (uint8_t)row->mode;
        player.policy.established = true;
        player.limits.override = row->override;
        player.mss = row->mss ? row->mss : player.mss;
        EXPECT_TEXT(row->name, play(&player, row->script), row->wanted);
    }
}

/* What is found is respected. */
Test(policy, options_that_are_found) {
    for (int mode = MODE_NODELAY; mode < MODES; mode++)
        for (int cork = 0; cork < 2; cork++) {
            struct player player;
            start(&player, (enum mode)mode);
            player.policy.unsure = true;
            player.found.app_nodelay = !cork;
            player.found.app_cork = cork;
            EXPECT_TEXT(mode_names[mode], play(&player, "200 100 r 200 100 r"),
                        "plain opts+mss+plain . plain plain .");
        }
}

/* On loopback the MSS was 32 741, 47 616, 63 488 and 65 483 in the first four exchanges of 200 B + 40 000 B.
 * Asked once, it made the second write a large one, which stalled in most exchanges. */
Test(policy, an_mss_of_loopback_grows) {
    struct player player;
    start(&player, MODE_NODELAY);
    player.mss = 32741;
    EXPECT_TEXT("large", play(&player, "200 40000 r"), "plain mss+plain .");
    player.mss = 47616;
    EXPECT_TEXT("small", play(&player, "200 40000 r"), "plain mss+push+plain .");
    start(&player, MODE_NODELAY);
    player.mss = 32768;
    EXPECT_TEXT("no tail", play(&player, "65536 5 r"), "plain mss+plain .");
    player.mss = 65483;
    EXPECT_TEXT("a tail", play(&player, "65536 5 r"), "plain mss+push+plain .");
    start(&player, MODE_NODELAY);
    player.mss = 32768;
    int asked = 0;
    for (int i = 0; i < 200; i++)
        asked += strstr(play(&player, "200 40000 r"), "mss+") != NULL;
    EXPECT_INT("of 200 messages with one that stays", asked, 8);
    start(&player, MODE_NODELAY);
    EXPECT_TEXT("not on a network", play(&player, "2*(200 14600 r)"), "plain plain .");
    start(&player, MODE_NODELAY);
    player.mss = 32768;
    player.policy.nodelay = true;
    EXPECT_TEXT("nor where Nagle is off", play(&player, "9*(200 40000 r)"), "plain plain .");
}

/* ---- where a hold is never begun --------------------------------------- */

static const struct {
    const char *name;
    struct policy is;
    struct policy_limits limits; /* what differs from the usual ones */
    const char *cork, *coalesce, *autom; /* how "200" leaves, where else it would be held */
} places[] = {
    {"else", {.units = 0}, {.room = 0}, "more", "buffer", "more"},
    {"untracked", {.untracked_io = true}, {.room = 0}, "plain", "plain", "plain"},
    {"MPTCP or a TCP_ULP: buffering is still possible", {.mptcp = true}, {.room = 0}, "plain", "buffer",
     "plain"},
    {"shared with another process: not buffered", {.never_buffer = true}, {.room = 0}, "more", "more",
     "more"},
    {"... and MPTCP or a TCP_ULP", {.never_buffer = true, .mptcp = true}, {.room = 0}, "plain", "plain",
     "plain"},
    {"it defied prediction", {.nodelay_only = true}, {.room = 0}, "plain", "plain", "plain"},
    {"its writes are told apart", {.never_hold = true}, {.room = 0}, "plain", "plain", "plain"},
    {"the kernel takes no more", {.refuses = true}, {.room = 0}, "plain", "plain", "plain"},
    {"the application's TCP_NODELAY", {.app_nodelay = true}, {.room = 0}, "plain", "plain", "plain"},
    {"... overridden", {.app_nodelay = true}, {.override = true}, "more", "buffer", "more"},
    {"the application's TCP_CORK", {.app_cork = true}, {.room = 0}, "plain", "plain", "plain"},
    {"... is never overridden", {.app_cork = true}, {.override = true}, "plain", "plain", "plain"},
    {"the end of its MSG_MORE", {.app_more = true}, {.room = 0}, "plain", "plain", "plain"},
    {"just room in the buffer", {.units = 0}, {.room = 200}, "more", "buffer", "more"},
    {"no room in the buffer", {.units = 0}, {.room = 199}, "more", "plain", "more"},
    {"UNSTALL_SMALL=199", {.units = 0}, {.small = 199}, "plain", "plain", "plain"},
    {"no thread for the window: only by habit", {.units = 0}, {.windowless = true}, "more", "plain", "plain"},
    {"... a habit", {.quick_turns = HABIT}, {.windowless = true}, "more", "plain", "more"},
};

static const char *answer_in(enum mode mode, const struct policy *is, const struct policy_limits *limits,
                             struct player *player) {
    start(player, mode);
    play(player, "3*(200 100 r)"); /* in auto: held from now on */
    player->policy.facts |= is->facts;
    player->policy.never_buffer = is->never_buffer;
    player->policy.quick_turns = is->quick_turns;
    if (is->refuses)
        policy_refuses(&player->policy);
    player->limits.override = limits->override;
    player->limits.windowless = limits->windowless;
    player->limits.room = limits->room ? limits->room : player->limits.room;
    player->limits.small = limits->small ? limits->small : player->limits.small;
    return play(player, "200");
}

Test(policy, never_held_where) {
    struct player player;
    EACH_ROW(row, places) {
        EXPECT_TEXT(row->name, answer_in(MODE_CORK, &row->is, &row->limits, &player), row->cork);
        EXPECT_TEXT(row->name, answer_in(MODE_COALESCE, &row->is, &row->limits, &player), row->coalesce);
        EXPECT_TEXT(row->name, answer_in(MODE_AUTO, &row->is, &row->limits, &player), row->autom);
        for (int mode = MODE_OFF; mode < MODE_CORK; mode++)
            EXPECT_TEXT(row->name, answer_in((enum mode)mode, &row->is, &row->limits, &player), "plain");
    }
    start(&player, MODE_CORK);
    player.limits.may_hold = false;
    EXPECT_TEXT("nothing may be held: pushed instead", play(&player, "200 100 w"), "plain push+plain |");
}

/* ---- counts ------------------------------------------------------------- */

/* A message of more bytes or writes than a counter holds stays one message. */
Test(policy, counters_do_not_wrap) {
    struct player player;
    start(&player, MODE_NODELAY);
    play(&player, "r 70000*(1)");
    EXPECT_INT("70000 writes of a byte", player.policy.units, UINT16_MAX);
    EXPECT_INT("70000 writes of a byte", player.policy.small_writes, UINT16_MAX);
    EXPECT(player.policy.nodelay);
    play(&player, "4400*(1000000)");
    struct policy_action action =
        policy_write(&player.policy, &player.limits, &(struct policy_write){.bytes = 100});
    cr_expect(!action.new_message, "4.4 GB and no input: still the same message");
    EXPECT_INT("bytes", player.policy.message_bytes, UINT32_MAX);
    policy_unsent(&player.policy, &action, 100);
    EXPECT_INT("a sum that is full tells nothing", player.policy.message_bytes, UINT32_MAX);
}

/* Only these end sending for good; all others concern one call. */
Test(policy, errors_that_end_sending) {
    static const int ends[] = {EPIPE,       ECONNRESET,   ETIMEDOUT, ECONNABORTED, ECONNREFUSED,
                               ENETUNREACH, EHOSTUNREACH, ENETDOWN,  EHOSTDOWN};
    for (int error = 0; error < 140; error++) {
        bool ending = false;
        for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
            ending |= error == ends[i];
        struct policy p = {.established = true};
        policy_met(&p, error);
        policy_input(&p, 1, 2, false); /* changes nothing about that */
        cr_expect(p.refuses == ending && p.established == !ending, "error %d", error);
        policy_established(&p);
        EXPECT(p.established && !p.refuses);
    }
    struct policy p = {.established = true, .app_more = true, .units = 1, .smalls = 1, .small_writes = 1,
                       .pending = 1, .message_bytes = 1};
    policy_disconnected(&p);
    EXPECT(p.refuses && !p.established && !p.app_more && p.units + p.smalls + p.small_writes == 0);
    EXPECT_INT("left", p.pending + p.message_bytes, 0);
}

/* A hold that the window ended costs four, the end of a turn gives one back; sixteen are too many in auto,
 * or where the kernel ends them.  It costs nothing where it joined four writes and the turn went on. */
static const struct {
    const char *name;
    enum mode mode;
    bool by_kernel;
    /* the cost; the writes of its turn, at this window, at the one before and at its end; the cost then */
    unsigned before, position, window_at, then, after;
    bool nodelay_only;
} windows[] = {
    {"auto", AUTO, false, 0, 2, 0, 2, 3, false},
    {"auto: few", AUTO, false, 11, 2, 0, 2, 14, false},
    {"auto: many", AUTO, false, 12, 2, 0, 2, 15, true},
    {"cork has a window", CORK, false, 12, 2, 0, 2, 15, false},
    {"cork without one", CORK, true, 12, 2, 0, 2, 15, true},
    {"cork without one: few", CORK, true, 11, 2, 0, 2, 14, false},
    {"four, and it goes on", CORK, false, 10, 4, 0, 5, 9, false},
    {"four, and it ends there", CORK, false, 10, 4, 0, 4, 13, false},
    {"three", CORK, false, 10, 3, 0, 4, 13, false},
    {"four behind the last window", CORK, false, 10, 9, 5, 10, 9, false},
    {"three behind it", CORK, false, 10, 8, 5, 9, 13, false},
    {"a new turn since: its position alone", CORK, false, 10, 4, 9, 5, 9, false},
    {"the kernel joins nothing", CORK, true, 10, 4, 0, 5, 13, false},
    {"as far as it counts", CORK, false, 0, 300, 200, 301, 0, false},
};

Test(policy, holds_that_the_window_ended) {
    EACH_ROW(row, windows) {
        struct policy p = {.mode = (uint8_t)row->mode, .window_ends = (uint8_t)row->before,
                           .window_at = (uint8_t)row->window_at, .position = (uint16_t)row->position};
        policy_window_ended(&p, row->by_kernel);
        EXPECT_INT(row->name, p.nodelay_only, row->nodelay_only);
        p.position = (uint16_t)row->then;
        policy_window_turn_ends(&p);
        EXPECT_INT(row->name, p.window_ends, row->after);
        EXPECT(!p.window_joined && !p.window_at);
    }
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
    {"almost full", 8191, 8192, false},
};

Test(policy, an_input_ends_the_message) {
    EACH_ROW(row, inputs) {
        struct policy p = {.one_way = true, .units = 3, .turns = 4, .small_writes = 5, .smalls = 6,
                           .message_bytes = 7, .pending = 8, .goes_on = 9, .kept_turn = true, .position = 2,
                           .unanswered = 4, .bursty = true};
        policy_input(&p, row->bytes, row->asked, false);
        EXPECT_INT(row->name, p.input_pending, row->pending);
        EXPECT_INT(row->name, p.units + p.smalls + p.small_writes + p.message_bytes + p.turns + p.pending, 0);
        EXPECT(p.established && p.input_ever && !p.one_way && !p.kept_turn);
        EXPECT(p.goes_on == 9 && p.position == 2 && p.unanswered == 4 && p.bursty);
    }
    const struct policy_limits limits = {.small = 4096};
    for (uint32_t bytes = 65536; bytes <= 65537; bytes++) {
        struct policy p = {.mode = MODE_COALESCE, .established = true, .buffer_limit = 1000, .mss = 1460};
        policy_write(&p, &limits, &(struct policy_write){.bytes = 1000});
        EXPECT_INT("within the known room", p.sndbuf_maybe_full, false);
        policy_write(&p, &limits, &(struct policy_write){.bytes = bytes - 1000});
        EXPECT_INT("beyond it", p.sndbuf_maybe_full, true);
        policy_input(&p, 1, 2, false);
        EXPECT_INT("a huge one may still fill it", p.sndbuf_maybe_full, bytes > 65536);
        policy_write(&p, &limits, &(struct policy_write){.bytes = 1001});
        policy_no_room(&p);
        policy_input(&p, 1, 2, false);
        EXPECT_INT("the kernel had no room: ask", p.sndbuf_maybe_full, true);
    }
}

/* ---- habits where the kernel's timer is the only window ------------------ */

static const struct {
    const char *name;
    uint64_t gaps[3]; /* before the second piece, the third, and the end of the turn */
    bool quick;
} habits[] = {
    {"quick", {0, HABIT_GAP_NS, HABIT_GAP_NS}, true},
    {"a late piece", {HABIT_GAP_NS + 1, 0, 0}, false},
    {"a late last piece", {0, HABIT_GAP_NS + 1, 0}, false},
    {"a late end", {0, 0, HABIT_GAP_NS + 1}, false},
};

Test(policy, quick_turns_make_a_habit) {
    EACH_ROW(row, habits) {
        struct policy p = {.mode = MODE_AUTO, .bursty = true, .quick_turns = 5};
        for (int i = 0; i < 3; i++) {
            p.position++;
            policy_habit_piece(&p, i ? row->gaps[i - 1] : UINT64_MAX);
        }
        policy_habit_turn(&p, row->gaps[2]);
        EXPECT_INT(row->name, p.quick_turns, row->quick ? 6 : 0);
        p.quick_turns = HABIT;
        EXPECT(!policy_learns_habit(&p));
        p.position = 0;
        policy_habit_turn(&p, 0);
        EXPECT_INT("a turn without a write", p.quick_turns, 0);
    }
    struct player player;
    start(&player, MODE_AUTO);
    player.policy.quick_turns = 9;
    play(&player, "200 100");
    EXPECT_INT("turns of one piece are no habit of turns of two", player.policy.quick_turns, 0);
    EXPECT(policy_learns_habit(&player.policy));
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

Test(policy, the_signs_of_a_crossing_back_off) {
    for (int mode = 0; mode < MODES; mode++) {
        bool asks = mode != MODE_OFF && mode != MODE_CORK; /* which holds it instead */
        const struct policy answering = {.mode = (uint8_t)mode, .established = true, .mss = 1448};
        struct policy p = answering;
        int n = crossing_questions(&p, 1000, 20, true);
        if (asks)
            cr_expect(n >= 1000 / 16 && n <= 8 + 1000 / 16 + 2, "%s: %d", mode_names[mode], n);
        else
            EXPECT_INT(mode_names[mode], n, 0);
        p = answering;
        EXPECT_INT("reads that wait", crossing_questions(&p, 100, 20, false), 0);
        EXPECT_INT("... and do not any more", crossing_questions(&p, 8, 20, true), asks ? 8 : 0);
        p = answering;
        EXPECT_INT("reads with room", crossing_questions(&p, 100, 4096, false), 0);
        EXPECT_INT("... that find their bytes there", crossing_questions(&p, 8, 4096, true), asks ? 8 : 0);
        p = answering;
        p.app_nodelay = p.nodelay = true;
        EXPECT_INT("TCP_NODELAY of its own", crossing_questions(&p, 100, 20, true), 0);
        p = answering;
        p.crosses = true;
        EXPECT_INT("once it was seen", crossing_questions(&p, 100, 20, false), asks ? 99 : 0);
    }
}

/* ---- the model of turns ------------------------------------------------- */

static const struct {
    const char *name;
    struct {
        int times;
        unsigned writes;
    } turns[4];
    const char *wanted; /* for each position: ? unknown, + more, . last */
} learnt[] = {
    {"nothing seen", {{0, 0}}, "????"},
    {"one turn of one write", {{1, 1}}, ".???"},
    {"one turn of two writes is learned at once", {{1, 2}}, "+.??"},
    {"one turn of three", {{1, 3}}, "++.?"},
    {"always five", {{50, 5}}, "++++.?"},
    {"sixteen, the length of the table", {{20, 16}}, "+++++++++++++++."},
    {"longer: a segment costs more than a push", {{20, 40}}, "++++++++++++++++"},
    {"a single shorter turn does not upset", {{20, 3}, {1, 1}}, "++.?"},
    {"a single longer turn does not upset", {{20, 2}, {1, 5}}, "+.++.?"},
    {"nor does one in twenty", {{20, 2}, {1, 3}, {20, 2}, {1, 3}}, "+..?"},
    {"two odd ones in a row do: holding is the cheaper error", {{20, 2}, {2, 3}}, "++.?"},
    {"the change from two to four is learnt", {{50, 2}, {5, 4}}, "+++.?"},
    {"the change from four to two is learnt", {{50, 4}, {20, 2}}, "+.+.?"},
    {"and back", {{50, 4}, {50, 2}, {5, 4}}, "+++.?"},
    {"from one to two: the first is soon held", {{50, 1}, {2, 2}}, "+.?"},
    {"... and back", {{1, 1}, {1000, 2}, {1000, 1}}, "."},
};

Test(policy, learns_turns) {
    EACH_ROW(row, learnt) {
        struct turn_model model = {0};
        char signs[64] = "";
        for (size_t i = 0; i < ARRAY_SIZE(row->turns); i++)
            for (int n = 0; n < row->turns[i].times; n++)
                policy_learn_turn(&model, row->turns[i].writes);
        for (unsigned position = 1; position <= strlen(row->wanted); position++)
            signs[position - 1] = "?+."[policy_predict_turn(&model, position)];
        EXPECT_TEXT(row->name, signs, row->wanted);
        cr_expect(policy_predict_turn(&model, 0) == TURN_UNKNOWN, "no write yet: the table is not read");
    }
    struct turn_model model = {0};
    for (int i = 0; i < 40; i++)
        policy_learn_turn(&model, i % 2 ? 2 : 3);
    EXPECT_INT("two and three in turns", policy_predict_turn(&model, 2), TURN_MORE);
}

/* One turn of another length leaves no trace for ever. */
Test(policy, what_was_learned_comes_back_whole) {
    struct turn_model model = {0}, before;
    for (unsigned odd = 1; odd <= 3; odd += 2) {
        for (int i = 0; i < 200; i++)
            policy_learn_turn(&model, 2);
        before = model;
        policy_learn_turn(&model, odd);
        for (int i = 0; i < 200; i++)
            policy_learn_turn(&model, 2);
        EXPECT_INT("the first write", model.ended[0], before.ended[0]);
        EXPECT_INT("the second", model.ended[1], before.ended[1]);
    }
}

/* ---- properties --------------------------------------------------------- */

static const size_t sizes[] = {0,    1,    90,   200,  535,   536,   1459,  1460,
                               2920, 4096, 4097, 14600, 65535, 65536, 100000};

static size_t some_size(void) {
    return sizes[draw(ARRAY_SIZE(sizes))];
}

/* Any state that the facts allow. */
static struct policy some_state(void) {
    struct policy p = {.message_bytes = draw(2) ? (uint32_t)some_size() : 0};
    uint32_t mode = p.mode;
    p.facts = draw(2) ? draw(UINT32_MAX) & draw(UINT32_MAX) & draw(UINT32_MAX) : 0;
    p.mode = (uint8_t)(mode + draw(MODES));
    p.established |= draw(4) > 0;
    p.nodelay_uncertain = draw(8) == 0;
    p.never_buffer = draw(4) == 0;
    p.buffer_limit = (uint16_t)(draw(4) ? BUFFER_MOST : draw(2000));
    p.quick_turns = (uint8_t)draw(HABIT + 1);
    p.single_turns = (uint8_t)draw(HABIT + 1);
    p.goes_on = (uint8_t)draw(4);
    p.position = (uint16_t)(1 + draw(5));
    p.units = p.message_bytes ? (uint16_t)draw(4) : 0;
    p.first_unit = p.units ? (uint32_t)some_size() : 0;
    p.smalls = p.units ? (uint16_t)draw(p.units + 1u) : 0;
    p.small_writes = (uint16_t)(p.smalls + draw(3));
    p.unanswered = (uint16_t)draw(10);
    p.mss = draw(2) ? 1460 : draw(2) ? 32768 : 0;
    p.pending = p.message_bytes && draw(3) == 0 ? 1 + draw(300) : 0;
    p.model.ended[draw(5)] = (uint8_t)draw(256);
    return p;
}

static struct policy_limits some_limits(void) {
    return (struct policy_limits){.small = draw(4) ? 4096 : draw(300), .override = draw(4) == 0,
                                  .may_hold = draw(8) > 0, .windowless = draw(4) == 0,
                                  .room = draw(4) ? 4096 : draw(300)};
}

enum { STATES = 300000, SCRIPTS = 20000 };

/* A question changes nothing; what is forbidden to hold is not held; a mode that does not cure sets nothing;
 * TCP_NODELAY is set only where Nagle is in force and left alone where the application has a will. */
Test(policy, in_any_state, .timeout = 60) {
    for (int i = 0; i < STATES; i++) {
        struct policy p = some_state(), before = p;
        struct policy_limits limits = some_limits();
        struct policy_write w = {some_size(), draw(8) == 0, draw(8) == 0};
        bool cures = mode_cures((enum mode)p.mode);
        bool left_alone = p.app_cork || (p.app_nodelay && !limits.override);
        bool nagle = !p.nodelay || p.nodelay_uncertain, holds = policy_holds(&p, &limits, &w);
        EXPECT(memcmp(&p, &before, sizeof(p)) == 0);
        struct policy_action a = policy_write(&p, &limits, &w);
        ASSERT(!policy_waits_for_second(&before) ||
               (a.how == WRITE_PLAIN && !a.need_facts && !a.late_push && !a.suspected));
        if (a.need_facts) {
            before.large_units = p.large_units; /* counts the questions */
            before.mss = p.mss;
            ASSERT(memcmp(&p, &before, sizeof(p)) == 0 && !a.late_push && a.how == WRITE_PLAIN);
            ASSERT(!a.ends_unit && !a.new_message && !a.burst);
            continue;
        }
        ASSERT(holds == (a.how != WRITE_PLAIN));
        bool forbidden = w.bytes == 0 || w.bytes > limits.small || w.more || w.special || !limits.may_hold ||
                         before.untracked_io || before.app_more || before.nodelay_only || before.never_hold ||
                         before.unsure || !before.established || left_alone || p.mode < MODE_CORK;
        ASSERT(!forbidden || a.how == WRITE_PLAIN);
        ASSERT(a.how != WRITE_MORE || !before.mptcp);
        ASSERT(a.how != WRITE_COALESCE ||
               (p.mode == MODE_COALESCE && !before.never_buffer && w.bytes <= limits.room &&
                !limits.windowless && !before.sndbuf_maybe_full &&
                before.message_bytes + w.bytes <= before.buffer_limit));
        ASSERT(cures || (!a.late_push && !a.back_to_app));
        ASSERT(!a.suspected || (!cures && nagle && !left_alone));
        ASSERT(!a.late_push || (nagle && a.ends_unit && !p.app_cork));
        ASSERT(!a.late_push || !left_alone || before.nodelay_uncertain);
        ASSERT(!a.back_to_app || (before.nodelay && !before.app_nodelay && !before.input_ever));
        ASSERT(p.message_bytes == before.message_bytes + w.bytes);
        struct policy corked = p;
        corked.app_cork = true;
        a.need_facts = policy_uncork(&corked, &limits).need_facts;
        ASSERT(corked.app_cork == a.need_facts && (a.need_facts || (!corked.app_more && !corked.pending)));
        /* a write that the kernel then refused was none */
        policy_unsent(&p, &a, w.bytes);
        if (w.bytes && (a.ends_unit || before.pending + w.bytes > before.pending)) {
            ASSERT(p.units == before.units && p.small_writes == before.small_writes);
            ASSERT(p.message_bytes == before.message_bytes && p.unanswered == before.unanswered);
            ASSERT(p.position == before.position - 1 && p.pending == (a.ends_unit ? 0 : before.pending));
        }
    }
}

/* Behind buffered bytes the fast path takes what the long one would buffer, and leaves the same state. */
Test(policy, the_fast_path_decides_as_the_long_path, .timeout = 60) {
    int taken = 0;
    for (int i = 0; i < STATES; i++) {
        struct policy p = {.mode = MODE_COALESCE, .established = true, .buffer_limit = BUFFER_MOST,
                           .position = 1, .mss = draw(2) ? 1460 : 0};
        struct policy_limits limits = {.small = 4096, .may_hold = true, .room = draw(2) ? 4096 : draw(2000)};
        size_t bytes = some_size();
        if (policy_write(&p, &limits, &(struct policy_write){.bytes = 1 + draw(300)}).how != WRITE_COALESCE)
            continue;
        p.message_bytes += draw(4) ? 0 : 15000;
        p.sndbuf_maybe_full = draw(8) == 0;
        if (draw(8) == 0)
            policy_refuses(&p);
        if (draw(8) == 0)
            policy_input(&p, 1, 2, false);
        struct policy brief = p, untouched = p;
        bool fast = policy_buffers_on(&brief, &limits, bytes);
        p.position++;
        bool same_message = p.message_bytes > 0;
        const struct policy_write w = {.bytes = bytes};
        bool buffered = policy_write(&p, &limits, &w).how == WRITE_COALESCE;
        ASSERT(fast == (buffered && same_message));
        ASSERT(memcmp(fast ? &brief : &untouched, fast ? &p : &brief, sizeof(p)) == 0);
        taken += fast;
    }
    EXPECT(taken > STATES / 10);
}

/* The promise: in a mode that cures, no small segment of a message waits for the acknowledgement of another
 * one, whatever the program writes and wherever it waits, except in a one-way stream and where the
 * application itself holds.  Nothing that was held or buffered is left at the end of a turn. */
Test(policy, nothing_stalls, .timeout = 60) {
    /* behind buffered bytes a write of whole segments leaves a tail, which policy does not see */
    static const char *const words[] = {"1", "90", "200", "536", "1459", "4097", "20000", "r", "R", "w", "q",
                                        "x", "i", "200m", "90s", "200e", "c", "u", "1460", "14600"};
    unsigned how[3] = {0};
    for (int i = 0; i < SCRIPTS; i++) {
        struct player player;
        start(&player, (enum mode)(MODE_NODELAY + draw(MODES - MODE_NODELAY)));
        size_t choice = ARRAY_SIZE(words) - (player.policy.mode == MODE_COALESCE ? 2 : 0);
        TEXT(script, 1024);
        text_add(&script, "r"); /* a conversation: no one-way stream */
        for (unsigned n = 5 + draw(60); n > 0; n--) {
            const char *word = words[draw((uint32_t)choice)];
            text_add(&script, " ");
            text_add(&script, word);
        }
        text_add(&script, " w");
        const char *answer = play_once(&player, script.at);
        cr_assert(!player.stalls, "%s: %s:\n%s", mode_names[player.policy.mode], script.at,
                  unit_plain(answer));
        ASSERT(!player.held && player.buffered == 0);
        how[0] += strstr(answer, "plain") != NULL;
        how[1] += strstr(answer, "more") != NULL;
        how[2] += strstr(answer, "buffer") != NULL;
    }
    EXPECT(how[0] > SCRIPTS / 2 && how[1] > SCRIPTS / 4 && how[2] > SCRIPTS / 8); /* the scripts reach all */
}
