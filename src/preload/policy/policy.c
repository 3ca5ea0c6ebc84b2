/* SPDX-License-Identifier: MIT
 *
 * Policy: the facts of a connection and one write go in, an action comes out.  Nothing here asks the kernel
 * or the clock; where a fact is missing the action says so (need_facts), and the caller asks and comes again.
 * What runs at each write is inline in policy.h; here is what runs seldom.
 *
 * A write's facts are its size, MSG_MORE, and whether it may be held at all (struct policy_write); the rest
 * is what earlier writes and inputs have put into struct policy.  Of the open message three numbers tell what
 * Nagle would do: `pending`, the bytes that the application or we hold, the beginning of a unit; `units`, the
 * units so far; `smalls`, those that end in a small segment.  The second small one would wait for an
 * acknowledgement, so TCP_NODELAY is set before it (late_push).  The MSS, which tells small from large, is
 * asked at a second unit, unless both have less than SURELY_SMALL bytes.  Input ends the message and clears
 * the three.  `small_writes` is a count for the statistics and decides nothing.
 *
 * A stream gets no input: `unanswered` counts its small units, and at ONE_WAY of them, without any input
 * ever, mode auto gives Nagle back.
 *
 * Cork and coalesce hold each small write that may be held.  Auto holds where it pays: the connection is
 * bursty, its model says that the turn goes on (the share of turns that ended at this position), and the hold
 * will end: by the window's thread, or, where there is none, by habit (HABIT turns in a row without a gap,
 * each ended by a call that we see).  A hold that the window ends costs WINDOW_END_COST, and each turn's end
 * pays one back; at WINDOW_END_LIMIT auto sets TCP_NODELAY only, from then on.  A hold that had joined
 * WINDOW_JOINS writes, and whose turn went on, is forgiven: the program was at work on several messages.
 *
 * In a mode that cures a write is counted before the call; policy_unsent() takes that back if it fails.
 */
#include "policy.h"

enum {
    WINDOW_END_COST = 4, /* added for a hold that the window ended; a turn's end subtracts 1 */
    WINDOW_END_LIMIT = 16,
    WINDOW_JOINS = 4, /* two answers of two writes */
};

const char *const mode_names[MODES] = {"off", "observe", "nodelay", "cork", "coalesce", "auto"};

struct policy_action policy_write(struct policy *p, const struct policy_limits *limits,
                                  const struct policy_write *w) {
    struct policy_action action = {.how = WRITE_PLAIN};
    if (w->bytes)
        policy_decide(p, limits, w, &action);
    return action;
}

void policy_unsent(struct policy *p, const struct policy_action *action, size_t bytes) {
    if (action->ends_unit && p->units > 0)
        p->units--;
    else if (!action->ends_unit && action->how != WRITE_COALESCE)
        p->pending -= bytes < p->pending ? (uint32_t)bytes : p->pending;
    if (action->small_unit && p->smalls > 0)
        p->smalls--;
    if (action->unanswered && p->unanswered > 0)
        p->unanswered--;
    if (action->small_write && p->small_writes > 0)
        p->small_writes--;
    if (p->position > 0)
        p->position--;
    if (p->message_bytes != UINT32_MAX)
        p->message_bytes -= bytes < p->message_bytes ? (uint32_t)bytes : p->message_bytes;
}

void policy_pushed(struct policy *p) {
    p->pending = 0;
    count16(&p->units);
    count16(&p->smalls);
}

struct policy_action policy_release(struct policy *p, const struct policy_limits *limits,
                                    size_t bytes) {
    struct policy_action action = {.how = WRITE_PLAIN};
    unit_ends(p, limits, bytes, &action);
    return action;
}

struct policy_action policy_uncork(struct policy *p, const struct policy_limits *limits) {
    struct policy_action action = {.how = WRITE_PLAIN};
    p->app_cork = false;
    if (p->pending)
        unit_ends(p, limits, p->pending, &action);
    if (action.need_facts) {
        p->app_cork = true;
        return action;
    }
    p->app_more = false;
    p->pending = 0;
    return action;
}

void policy_disconnected(struct policy *p) {
    policy_refuses(p);
    p->app_more = false;
    p->units = p->small_writes = 0;
    p->pending = p->message_bytes = p->smalls = 0;
}

/* Errors that end sending for good.  All others concern one call only. */
void policy_met(struct policy *p, int error) {
    static const int ends[] = {EPIPE,       ECONNRESET,   ETIMEDOUT, ECONNABORTED, ECONNREFUSED,
                               ENETUNREACH, EHOSTUNREACH, ENETDOWN,  EHOSTDOWN};
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (error == ends[i])
            policy_refuses(p);
}

/* The window ended a hold of many writes, and the turn went on: the program is at work on several messages.
 * The hold joined what it could, so it costs nothing. */
static void forgive_window_end(struct policy *p) {
    if (p->window_joined && p->position > p->window_at)
        p->window_ends = (uint8_t)(p->window_ends - (p->window_ends < WINDOW_END_COST ? p->window_ends
                                                                                    : WINDOW_END_COST));
    p->window_joined = false;
}

void policy_window_ended(struct policy *p, bool by_kernel) {
    forgive_window_end(p);
    unsigned joined = p->position - (p->position > p->window_at ? p->window_at : 0U);
    p->window_joined = !by_kernel && joined >= WINDOW_JOINS;
    p->window_at = (uint8_t)(p->position < UINT8_MAX ? p->position : UINT8_MAX);
    p->window_ends = (uint8_t)(p->window_ends + WINDOW_END_COST);
    if ((by_kernel || p->mode == MODE_AUTO) && p->window_ends >= WINDOW_END_LIMIT)
        p->nodelay_only = true;
}

void policy_window_turn_ends(struct policy *p) {
    forgive_window_end(p);
    p->window_at = 0;
    if (p->window_ends)
        p->window_ends--;
}

/* ---- the model of turns ------------------------------------------------- */

enum { WEIGHT = 8 /* a new turn counts one eighth */ };

static unsigned slot(unsigned position) {
    return (position < TURN_POSITIONS ? position : TURN_POSITIONS) - 1;
}

static void lean(uint8_t *share, int towards) {
    if (*share == towards)
        return;
    if (*share == 0) {
        *share = (uint8_t)towards;
        return;
    }
    int step = (towards - *share) / WEIGHT;
    if (step == 0)
        step = (towards > *share) - (towards < *share);
    *share = (uint8_t)(*share + step);
}

void policy_learn_turn(struct turn_model *model, unsigned writes) {
    unsigned last = slot(writes);
    for (unsigned i = 0; i < last; i++)
        lean(&model->ended[i], TURN_NEVER);
    /* the last slot stands for all later positions too: a longer turn did not end there */
    lean(&model->ended[last], writes > TURN_POSITIONS ? TURN_NEVER : TURN_ALWAYS);
}
