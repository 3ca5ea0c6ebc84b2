/* SPDX-License-Identifier: MIT
 *
 * The short ways through policy: what nearly every call of a connection in steady
 * state is, decided in a few dozen instructions where it is called.  Pure, as
 * policy.h is.  Where a short way is taken it does exactly what the long one would
 * have done (tests/unit/test_policy_short.c plays both); where it is not, it has
 * changed nothing.
 */
#ifndef UNSTALL_POLICY_SHORT_H
#define UNSTALL_POLICY_SHORT_H

#include "policy.h"

enum {
    SURELY_SMALL = 536,   /* no TCP path has a smaller MSS (RFC 9293, 3.7.1) */
    SURELY_LARGE = 65536, /* loopback's MSS is 65 483 */
    PENDING_READ = 4096,  /* a read that filled this much probably left something */
    ANSWERED = 65536,     /* bytes of a message that need not wait in the send buffer any more once
                       * there is an answer; where they do, the next write finds no room */
    SHORT_MOST = 1 << 30, /* bytes of a message: below, no sum of two overflows */
};

/* Nagle would keep a small unit back: as far as we know it is on, or another
 * process may have switched it on again. */
static inline bool nagle_in_force(const struct policy *p) {
    return !p->nodelay || p->doubtful;
}

/* Does a unit of so many bytes end in a small segment?  Most are smaller than a
 * segment, and a division costs 10 to 25 cycles. */
static inline bool leaves_tail(size_t bytes, size_t mss) {
    return bytes < mss ? bytes != 0 : bytes % mss != 0;
}

/* As policy_input(). */
static inline void policy_input_short(struct policy *p, size_t bytes, size_t asked) {
    if (p->turns == 1 && !p->kept_turn)
        p->goes_on = 0;
    p->kept_turn = false;
    p->input_ever = true;
    p->input_pending = bytes == asked && asked >= PENDING_READ;
    p->established = !p->refuses;
    p->one_way = false;
    if (UNLIKELY(p->large)) {
        if (p->message_bytes <= ANSWERED) /* who answers has read it, as a rule */
            p->crowded = false;
        p->large = false;
    }
    p->units = 0;
    p->turns = 0;
    p->small_writes = 0;
    p->smalls = 0;
    p->message_bytes = 0;
    p->pending = 0;
}

/* As policy_turn_ends(). */
static inline void policy_turn_ends_short(struct policy *p) {
    if (p->ill || (p->position >= 2 && p->nodelay)) {
        policy_turn_ends(p);
        return;
    }
    if (p->position && p->window_ends)
        p->window_ends--;
    p->position = 0;
}

/* As policy_release(), of the first unit of a message: nothing is to be done about it.
 * False: nothing has changed. */
static inline bool policy_release_short(struct policy *p, size_t bytes) {
    if (p->units > 0 || p->smalls >= 2 || !p->input_ever || bytes > UINT32_MAX)
        return false;
    p->first_unit = (uint32_t)bytes;
    p->units = 1;
    return true;
}

/* The write of a turn whose writes before it are gathered: it is counted, and true means
 * that it is to be gathered too.  What else could forbid that (an option, darkness, a
 * mode) has let the gathered ones go first.  False: nothing is counted. */
static inline bool policy_gathers_on(struct policy *p, const struct policy_limits *limits,
                                     size_t bytes) {
    if (bytes - 1 >= limits->small || !limits->may_hold || p->mode != MODE_COALESCE || p->crowded ||
        !p->established || p->message_bytes == 0 || p->message_bytes + bytes > p->gather_limit)
        return false;
    p->message_bytes += (uint32_t)bytes;
    if (bytes < (p->mss ? p->mss : limits->small + 1) && p->small_writes != UINT16_MAX)
        p->small_writes++;
    if (p->position != UINT16_MAX)
        p->position++;
    return true;
}

enum short_way { SHORT_NOT, SHORT_PLAIN, SHORT_HOLD };

/* Is this write one to hold or gather?  As policy_holds(), of a write that is neither
 * special nor MSG_MORE. */
static inline enum short_way short_way_of(const struct policy *p,
                                          const struct policy_limits *limits, size_t bytes) {
    if (p->mode == MODE_NODELAY || (p->mode == MODE_AUTO && !p->ill))
        return SHORT_PLAIN;
    bool may = limits->may_hold && bytes <= limits->small && !p->dark && !p->fallen &&
               (!p->app_nodelay || limits->override);
    bool holds = false;
    switch ((enum mode)p->mode) {
    case MODE_AUTO:
        holds = may && !p->no_more && !p->input_pending &&
                (!limits->windowless || p->quick_turns >= HABIT) &&
                turn_predict(&p->model, p->position) == TURN_MORE;
        break;
    case MODE_CORK: holds = may && !p->no_more; break;
    case MODE_COALESCE:
        may = may && !limits->windowless;
        if (p->crowded || !p->gather_limit)
            return may ? SHORT_NOT : SHORT_PLAIN; /* is there room?  The kernel must be asked */
        holds = may && p->message_bytes + bytes <= p->gather_limit;
        break;
    default: return SHORT_NOT;
    }
    return holds ? SHORT_HOLD : SHORT_PLAIN;
}

/* A second unit of the message, or a later one, leaves.  False: something must be done
 * about it, or asked. */
static inline bool short_second(struct policy *p, const struct policy_limits *limits, size_t bytes,
                                struct policy_action *action) {
    if (p->mss == 0 && bytes < SURELY_LARGE &&
        (bytes >= SURELY_SMALL || p->first_unit >= SURELY_SMALL))
        return false;
    size_t mss = p->mss ? p->mss : SURELY_SMALL;
    uint32_t smalls = p->smalls;
    if (p->units == 1 && leaves_tail(p->first_unit, mss))
        smalls = 1;
    bool tail = leaves_tail(bytes, mss);
    smalls += tail;
    bool left_alone = p->app_nodelay && !limits->override;
    if (bytes < mss && smalls >= 2 && !left_alone &&
        (nagle_in_force(p) || (p->position >= 2 && !p->ill)))
        return false;
    p->smalls = smalls;
    action->small_unit = tail;
    return true;
}

/* As policy_write(), of a write that is neither special nor MSG_MORE and that has
 * joined its turn.  False: nothing is decided, and nothing has changed. */
static inline bool policy_write_short(struct policy *p, const struct policy_limits *limits,
                                      size_t bytes, struct policy_action *action) {
    struct policy_action a = {.how = WRITE_PLAIN};
    if (bytes - 1 >= SHORT_MOST || p->app_cork || p->app_more || p->unsure || !p->established ||
        !p->input_ever || (p->message_bytes | p->pending) >= SHORT_MOST)
        return false;
    enum short_way way = short_way_of(p, limits, bytes);
    if (UNLIKELY(way == SHORT_NOT))
        return false;
    if (way == SHORT_HOLD) {
        a.how = p->mode == MODE_COALESCE ? WRITE_GATHER : WRITE_MORE;
        if (a.how == WRITE_MORE)
            p->pending += (uint32_t)bytes;
    } else {
        size_t unit = bytes + p->pending;
        if (p->units == 0) {
            if (UNLIKELY(p->smalls >= 2))
                return false;
            p->first_unit = (uint32_t)unit;
        } else if (!short_second(p, limits, unit, &a)) {
            return false;
        }
        p->units = (uint16_t)(p->units + (p->units != UINT16_MAX));
        p->pending = 0;
        a.ends_unit = true;
    }
    a.small_write = bytes < (p->mss ? p->mss : limits->small + 1);
    p->small_writes =
        (uint16_t)(p->small_writes + (a.small_write && p->small_writes != UINT16_MAX));
    a.burst = a.small_write && p->small_writes == 2;
    a.new_message = p->message_bytes == 0;
    p->message_bytes += (uint32_t)bytes;
    if (UNLIKELY(p->gather_limit && p->message_bytes > p->gather_limit && !p->crowded))
        p->crowded = p->large = true;
    *action = a;
    return true;
}

#endif
