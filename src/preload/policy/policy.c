/* SPDX-License-Identifier: MIT */
#include "policy.h"

#include <errno.h>

#include "policy_short.h"

enum {
    ONE_WAY = 8,         /* small writes without any input ever: a stream */
    WINDOW_END_COST = 4, /* a hold ended by the window, against one ended by its turn */
    WINDOW_END_LIMIT = 16,
    GOES_ON = 2,
};

const char *const mode_names[MODE_COUNT] = {"off",  "observe",  "nodelay",
                                            "cork", "coalesce", "auto"};

static void count16(uint16_t *n) {
    if (*n != UINT16_MAX)
        ++*n;
}

bool policy_left_alone(const struct policy *p, const struct policy_limits *limits) {
    return p->app_cork || (p->app_nodelay && !limits->override);
}

bool policy_may_hold(const struct policy *p, const struct policy_limits *limits) {
    return limits->may_hold && !p->dark && !p->app_more && !p->fallen && !p->unsure &&
           p->established && !policy_left_alone(p, limits) &&
           (p->mode == MODE_COALESCE || !p->no_more);
}

/* The illness shows within a turn: what the turns looked like until now, cut at
 * every wait, teaches nothing about those to come. */
static void becomes_ill(struct policy *p) {
    if (p->ill)
        return;
    p->ill = true;
    p->quick_turns = 0;
    p->model = (struct turn_model){0};
}

/* Count a unit of `bytes` that leaves now and say what it needs.  Nagle keeps a small unit
 * while a small segment is on its way (Minshall's test in tcp_output.c of the kernel), and
 * the tail of a large unit is one too. */
static struct policy_action unit_ends(struct policy *p, const struct policy_limits *limits,
                                      size_t bytes) {
    struct policy_action action = {.how = WRITE_PLAIN, .ends_unit = true};
    bool second = p->units > 0;
    bool maybe_small = bytes < SURELY_LARGE;
    bool surely_small = bytes < SURELY_SMALL && p->first_unit < SURELY_SMALL;
    if (second && maybe_small && p->mode != MODE_OFF &&
        (p->unsure || (p->mss == 0 && !surely_small))) {
        action.need_facts = true;
        return action;
    }
    size_t mss = p->mss ? p->mss : SURELY_SMALL;
    if (!second)
        p->first_unit = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    else if (p->units == 1 && p->first_unit % mss != 0)
        p->smalls = 1; /* the first one, judged now that the MSS may be known */
    count16(&p->units);
    bool small = bytes < mss;
    action.small_unit = second && bytes % mss != 0;
    action.unanswered = small && !p->input_ever && p->unanswered < UINT16_MAX;
    p->smalls += action.small_unit;
    p->unanswered = (uint16_t)(p->unanswered + action.unanswered);
    if (!small || p->smalls < 2)
        return action;
    if (policy_left_alone(p, limits))
        return action;
    if (!mode_cures((enum mode)p->mode)) {
        action.suspected = nagle_in_force(p);
        return action;
    }
    if (p->unanswered >= ONE_WAY && !p->input_ever && p->mode == MODE_AUTO) {
        action.back_to_app = !p->one_way && p->nodelay && !p->app_nodelay;
        p->one_way = true;
        return action;
    }
    action.late_push = nagle_in_force(p);
    if (p->position >= 2)
        becomes_ill(p);
    return action;
}

bool policy_holds(const struct policy *p, const struct policy_limits *limits,
                  const struct policy_write *w) {
    if (!policy_might_hold(p) || w->special || w->more || w->bytes == 0 ||
        w->bytes > limits->small || !policy_may_hold(p, limits))
        return false;
    switch ((enum mode)p->mode) {
    case MODE_CORK: return true;
    case MODE_COALESCE:
        return !limits->windowless && !p->crowded &&
               p->message_bytes + w->bytes <= p->gather_limit;
    case MODE_AUTO:
        return p->ill && (p->input_ever || (p->taught && !p->one_way)) && !p->input_pending &&
               (!limits->windowless || p->quick_turns >= HABIT) &&
               turn_predict(&p->model, p->position) == TURN_MORE;
    default: return false;
    }
}

static void add32(uint32_t *to, size_t bytes) {
    *to = bytes > UINT32_MAX - *to ? UINT32_MAX : *to + (uint32_t)bytes;
}

struct policy_action policy_write(struct policy *p, const struct policy_limits *limits,
                                  const struct policy_write *w) {
    struct policy_action action = {.how = WRITE_PLAIN};
    if (w->bytes == 0)
        return action;
    if (policy_holds(p, limits, w)) {
        action.how = p->mode == MODE_COALESCE ? WRITE_GATHER : WRITE_MORE;
        if (action.how == WRITE_MORE)
            add32(&p->pending, w->bytes);
    } else if (p->app_cork && p->unsure && p->pending && p->mode != MODE_OFF) {
        action.need_facts = true; /* the listener's, which may have got it after the handshake */
        return action;
    } else if (w->more || p->app_cork) {
        p->app_more = p->app_more || w->more;
        add32(&p->pending, w->bytes);
    } else {
        action = unit_ends(p, limits, w->bytes + p->pending);
        if (action.need_facts)
            return action;
        p->app_more = false;
        p->pending = 0;
    }
    action.small_write = w->bytes < (p->mss ? p->mss : limits->small + 1);
    if (action.small_write)
        count16(&p->small_writes);
    action.burst = action.small_write && p->small_writes == 2;
    action.new_message = p->message_bytes == 0;
    add32(&p->message_bytes, w->bytes);
    if (p->gather_limit && p->message_bytes > p->gather_limit && !p->crowded)
        p->crowded = p->large = true;
    return action;
}

void policy_unsent(struct policy *p, const struct policy_action *action, size_t bytes) {
    if (action->ends_unit && p->units > 0)
        p->units--;
    else if (!action->ends_unit && action->how != WRITE_GATHER)
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
    p->smalls++;
}

struct policy_action policy_release(struct policy *p, const struct policy_limits *limits,
                                    size_t bytes) {
    return unit_ends(p, limits, bytes);
}

struct policy_action policy_uncork(struct policy *p, const struct policy_limits *limits) {
    struct policy_action action = {.how = WRITE_PLAIN};
    p->app_cork = false;
    if (p->pending)
        action = unit_ends(p, limits, p->pending);
    if (action.need_facts) {
        p->app_cork = true;
        return action;
    }
    p->app_more = false;
    p->pending = 0;
    return action;
}

void policy_input(struct policy *p, size_t bytes, size_t asked) {
    policy_input_short(p, bytes, asked);
}

void policy_established(struct policy *p) {
    p->established = true;
    p->refuses = false;
}

void policy_refuses(struct policy *p) {
    p->established = false;
    p->refuses = true;
}

/* What tcp(7) and the network leave as a connection's fate; all others are of one call alone. */
void policy_met(struct policy *p, int error) {
    static const int ends[] = {EPIPE,       ECONNRESET,   ETIMEDOUT, ECONNABORTED, ECONNREFUSED,
                               ENETUNREACH, EHOSTUNREACH, ENETDOWN,  EHOSTDOWN};
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (error == ends[i])
            policy_refuses(p);
}

void policy_no_room(struct policy *p) {
    p->crowded = true;
    p->large = false;
}

void policy_turn_ends(struct policy *p) {
    if (p->position == 0)
        return;
    if (p->position >= 2 && p->nodelay && !p->app_nodelay)
        becomes_ill(p);
    if (p->ill) /* before, the model would be cleared by becomes_ill() */
        turn_learn(&p->model, p->position);
    p->position = 0;
    if (p->window_ends)
        p->window_ends--;
}

void policy_window_ended(struct policy *p) {
    p->window_ends = (uint8_t)(p->window_ends + WINDOW_END_COST);
    if (p->mode == MODE_AUTO && p->window_ends >= WINDOW_END_LIMIT)
        p->fallen = true;
}

void policy_kernel_ended(struct policy *p) {
    p->window_ends = (uint8_t)(p->window_ends + WINDOW_END_COST);
    p->fallen |= p->window_ends >= WINDOW_END_LIMIT;
}

bool policy_asks_first(const struct policy *p) {
    return p->goes_on >= GOES_ON && (!p->ill || turn_predict(&p->model, p->position) != TURN_LAST);
}

void policy_asked(struct policy *p, bool at_once) {
    if (at_once)
        p->kept_turn = true;
    else if (p->goes_on > 0)
        p->goes_on--;
}
