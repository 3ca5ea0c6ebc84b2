/* SPDX-License-Identifier: MIT */
#include "player.h"

#include <stdlib.h>
#include <string.h>

void player_start(struct player *player, enum mode mode) {
    memset(player, 0, sizeof(*player));
    player->policy.mode = (uint8_t)mode;
    player->policy.established = true;
    player->limits = (struct policy_limits){.small = 4096, .may_hold = true, .room = BUFFER_MOST};
    player->mss = 1460;
}

static void say(struct player *player, const char *what) {
    text_add(&player->trace, what);
}

static void set_nodelay(struct player *player) {
    player->policy.nodelay = true;
}

static void prepare(struct player *player, const struct policy_action *action) {
    if (action->back_to_app) {
        player->policy.nodelay = player->policy.app_nodelay;
        say(player, "back+");
    }
    if (action->late_push) {
        set_nodelay(player);
        say(player, "push+");
    }
}

/* As hold_ask_facts() does. */
static void ask_facts(struct player *player) {
    struct policy *p = &player->policy;
    if (p->unsure) {
        p->unsure = false;
        p->app_nodelay = p->nodelay = player->found_nodelay;
        p->app_cork = player->found_cork;
        say(player, "opts+");
    }
    if (p->mss == 0) {
        p->mss = player->mss;
        say(player, "mss+");
    }
}

static void let_go(struct player *player) {
    if (player->held) {
        player->held = false;
        set_nodelay(player);
        say(player, "push");
    }
    if (player->buffered == 0)
        return;
    struct policy_action action =
        policy_release(&player->policy, &player->limits, player->buffered);
    if (action.need_facts) {
        ask_facts(player);
        action = policy_release(&player->policy, &player->limits, player->buffered);
    }
    prepare(player, &action);
    player->buffered = 0;
    say(player, "send");
}

static void join_turn(struct player *player) {
    if (!player->turn)
        policy_turn_begins(&player->policy, player->quick);
    player->turn = true;
    player->quick = false;
    player->policy.position++;
}

static void end_turn(struct player *player) {
    let_go(player);
    if (player->turn)
        policy_turn_ends(&player->policy);
    player->turn = false;
}

static void one_write(struct player *player, size_t bytes, char kind) {
    static const char *const names[] = {"plain", "more", "buffer"};
    struct policy_write w = {bytes, kind == 'm', kind == 's'};
    join_turn(player);
    player->policy.buffer_limit = BUFFER_MOST;
    if (player->policy.message_bytes == 0)
        player->policy.sndbuf_maybe_full = false; /* the kernel, asked by the shim, has room */
    struct policy_action action = policy_write(&player->policy, &player->limits, &w);
    if (action.need_facts) {
        ask_facts(player);
        action = policy_write(&player->policy, &player->limits, &w);
    }
    prepare(player, &action);
    say(player, names[action.how]);
    if (action.suspected)
        say(player, "!");
    if (kind == 'e') {
        policy_unsent(&player->policy, &action, bytes);
        return;
    }
    player->held = action.how == WRITE_MORE || (player->held && w.more);
    player->buffered = action.how == WRITE_COALESCE ? player->buffered + bytes : 0;
}

static void uncork(struct player *player) {
    struct policy_action action = policy_uncork(&player->policy, &player->limits);
    if (action.need_facts) {
        ask_facts(player);
        action = policy_uncork(&player->policy, &player->limits);
    }
    prepare(player, &action);
    say(player, action.suspected ? "]!" : "]");
}

static void step(struct player *player, const char *word) {
    struct policy *p = &player->policy;
    char *end;
    unsigned long bytes = strtoul(word, &end, 10);
    if (end != word) {
        one_write(player, bytes, *end);
        return;
    }
    switch (*word) {
    case 'r':
    case 'R':
        end_turn(player);
        policy_input(p, *word == 'R' ? 8192 : 100, 8192, false);
        say(player, ".");
        break;
    case 'i':
        policy_input(p, 100, 8192, false);
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
        p->app_cork = true;
        say(player, "[");
        break;
    case 'u': uncork(player); break;
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

const char *play(struct player *player, const char *script) {
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

const char *play_again(struct player *player, int times, const char *script) {
    const char *answer = "";
    for (int i = 0; i < times; i++)
        answer = play(player, script);
    return answer;
}
