/* SPDX-License-Identifier: MIT
 *
 * The decisions of policy.h about a write, the end of a unit and the input that answers it.
 * They are inline functions for the road of a write (write.c): a call costs 20 to 40 instructions
 * more.  The other paths call policy_write().
 */
#ifndef UNSTALL_POLICY_INLINE_H
#define UNSTALL_POLICY_INLINE_H

#include "policy.h"

enum {
    SURELY_SMALL = 536,   /* no TCP path has a smaller MSS (RFC 9293, 3.7.1) */
    SURELY_LARGE = 65536, /* loopback's MSS is 65 483 */
    MSS_GROWS = 16384,    /* only loopback has such an MSS: at first half of the peer's window */
    PENDING_READ = 4096,  /* a full read of at least this size probably left input */
    ANSWERED = 65536,     /* after the answer to a message of at most this size the send buffer
                           * counts as empty; if that is wrong, the next write finds no room */
    ONE_WAY = 8,          /* small writes without any input ever: a stream */
    CROSSINGS_FIRST = 8,
    CROSSINGS_ONE_IN = 16,
};

static inline void count16(uint16_t *n) {
    *n = (uint16_t)(*n + (*n != UINT16_MAX));
}

static inline void add32(uint32_t *to, size_t bytes) {
    *to = bytes > UINT32_MAX - *to ? UINT32_MAX : *to + (uint32_t)bytes;
}

/* Nagle would delay a small unit: it is on as far as we know, or another process may
 * have switched it on again. */
static inline bool nagle_in_force(const struct policy *p) {
    return !p->nodelay || p->nodelay_uncertain;
}

/* True if a unit of `bytes` ends in a small segment.  Most units are smaller than a
 * segment: the comparison saves them a division (10 to 25 cycles). */
static inline bool leaves_tail(size_t bytes, size_t mss) {
    return bytes < mss ? bytes != 0 : bytes % mss != 0;
}

/* True if a write of `bytes` has the size for a hold: at most `small` bytes, and at least one. */
static inline bool has_size_to_hold(const struct policy_limits *limits, size_t bytes) {
    return bytes - 1 < limits->small;
}

/* coalesce: true if the buffer has room for `bytes` more, and the kernel will have room for all of it. */
static inline bool has_room(const struct policy *p, const struct policy_limits *limits, size_t bytes) {
    return bytes <= limits->room && !p->sndbuf_maybe_full && p->message_bytes + bytes <= p->buffer_limit;
}

/* True if a write of `bytes` counts as a small write of its message.  `small` is that of the limits. */
static inline bool is_small_write(const struct policy *p, uint32_t small, size_t bytes) {
    return bytes < (p->mss ? p->mss : small + 1);
}

/* True if a hold of this write is allowed.  Whether it pays, and whether there is room, policy_holds()
 * decides.  Changes nothing. */
INLINE bool policy_may_hold_write(const struct policy *p, const struct policy_limits *limits,
                                  const struct policy_write *w) {
    return policy_might_hold(p) && !w->special && !w->more && has_size_to_hold(limits, w->bytes) &&
           !policy_expects_no_more(p) && policy_may_hold(p, limits);
}

/* True if this write should be held or buffered.  Changes nothing.  Whether anybody could end the hold was
 * asked before, and stands in `limits` (window_decide). */
INLINE bool policy_holds(const struct policy *p, const struct policy_limits *limits,
                         const struct policy_write *w) {
    if (!policy_may_hold_write(p, limits, w))
        return false;
    if (p->mode == MODE_CORK)
        return true;
    if (p->mode == MODE_COALESCE)
        return !limits->windowless && (p->never_buffer || has_room(p, limits, w->bytes));
    return (p->input_ever || (p->from_cache && !p->one_way)) && !p->input_pending &&
           (!limits->windowless || p->quick_turns >= HABIT) &&
           turn_predict(&p->model, p->position) == TURN_MORE;
}

/* The second small write of a turn makes the connection bursty.  The model is cleared: the
 * turns before it were cut at every wait and do not predict later ones. */
static inline void becomes_bursty(struct policy *p) {
    if (p->bursty)
        return;
    p->bursty = true;
    p->quick_turns = 0;
    p->model = (struct turn_model){0};
}

/* Counts the units for which it matters that the MSS may have grown: they are taken for large ones and may
 * not be.  True if it is to be asked again: at the units 2, 4, 8 … 128 of every 256.  The first one is that
 * for which it was asked just now. */
static inline bool mss_is_old(struct policy *p, size_t bytes) {
    if (LIKELY(p->mss < MSS_GROWS || (bytes < p->mss && p->first_unit < p->mss)) || bytes >= SURELY_LARGE ||
        !nagle_in_force(p))
        return false;
    uint8_t count = ++p->large_units;
    return count > 1 && (count & (count - 1)) == 0;
}

/* ---- messages that cross ------------------------------------------------
 *
 * A message begins with a small unit while bytes of the message before are unacknowledged, so that Nagle
 * holds it: the input in between was under way already (the peer has two requests under way), or answered
 * something else (a message of two units, the last of which has no answer of its own).  Only the kernel knows
 * whether bytes are unacknowledged.  Programs that never have this must not pay for the question, so a sign
 * comes first: several units, or a read that got all that it asked for, at once, after a read that did so:
 * then its bytes may have been queued before the message was sent.  Most programs that show the sign never
 * have a crossing, so the signs back off: the first eight count, then one in sixteen; all once a crossing has
 * stalled. */

static inline bool policy_takes_sign(const struct policy *p) {
    return p->crosses || p->crossings < CROSSINGS_FIRST || p->crossings % CROSSINGS_ONE_IN == 0;
}

/* After a read.  True: the time of the next one tells whether its bytes were there already. */
INLINE bool policy_times_read(const struct policy *p) {
    return p->read_full && !p->crosses && p->mode != MODE_OFF && nagle_in_force(p) &&
           policy_takes_sign(p);
}

/* After a read of input that ends a message. */
static inline void policy_crossing_signs(struct policy *p, bool at_once) {
    p->may_cross = p->crosses || ((p->units > 1 || at_once) && policy_takes_sign(p));
    p->crossings =
        (uint8_t)(p->crossings == UINT8_MAX ? UINT8_MAX + 1 - CROSSINGS_ONE_IN : p->crossings + 1);
}

/* Such a message begins with a unit of `bytes`.  True: ask the kernel. */
static inline bool policy_asks_crossing(const struct policy *p, const struct policy_limits *limits,
                                        size_t bytes) {
    return p->mode != MODE_OFF && bytes < SURELY_LARGE && !policy_left_alone(p, limits->override) &&
           (nagle_in_force(p) || p->crosses);
}

/* Count a unit of `bytes` that leaves now and fill `action`, which must be zero.
 * Nagle delays a small unit while a small segment is in flight (Minshall's test in the
 * kernel's tcp_output.c); the tail of a large unit is a small segment too. */
INLINE void unit_ends(struct policy *p, const struct policy_limits *limits, size_t bytes,
                      struct policy_action *action) {
    size_t mss = p->mss ? p->mss : SURELY_SMALL;
    if (p->units == 0) {
        p->first_unit = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
        if (UNLIKELY(p->may_cross))
            action->crossing = policy_asks_crossing(p, limits, bytes);
    } else {
        bool surely_small = bytes < SURELY_SMALL && p->first_unit < SURELY_SMALL;
        if (UNLIKELY(mss_is_old(p, bytes)))
            p->mss = 0;
        if (UNLIKELY(bytes < SURELY_LARGE && p->mode != MODE_OFF &&
                     (p->unsure || (p->mss == 0 && !surely_small)))) {
            action->need_facts = true;
            return;
        }
        if (p->units == 1 && leaves_tail(p->first_unit, mss))
            p->smalls = 1; /* the first unit counts late: only now may the MSS be known */
        action->small_unit = leaves_tail(bytes, mss);
        p->smalls = (uint16_t)(p->smalls + (action->small_unit && p->smalls != UINT16_MAX));
    }
    action->ends_unit = true;
    count16(&p->units);
    bool small = bytes < mss;
    if (UNLIKELY(!p->input_ever && small && p->unanswered < UINT16_MAX)) {
        action->unanswered = true;
        p->unanswered++;
    }
    if (!small || p->smalls < 2)
        return;
    if (policy_left_alone(p, limits->override)) {
        action->late_push = UNLIKELY(p->nodelay_uncertain) && mode_cures((enum mode)p->mode) && !p->app_cork;
        return; /* the end of a child's program may have cleared the application's TCP_NODELAY=1 */
    }
    if (!mode_cures((enum mode)p->mode)) {
        action->suspected = nagle_in_force(p);
    } else if (p->unanswered >= ONE_WAY && !p->input_ever && p->mode == MODE_AUTO) {
        action->back_to_app = !p->one_way && p->nodelay && !p->app_nodelay;
        p->one_way = true;
    } else {
        action->late_push = nagle_in_force(p);
        if (p->position >= 2)
            becomes_bursty(p);
    }
}

/* As policy_write(), for at least one byte.  `action` must be zero. */
INLINE void policy_decide(struct policy *p, const struct policy_limits *limits,
                          const struct policy_write *w, struct policy_action *action) {
    if (policy_holds(p, limits, w)) {
        action->how = policy_buffers(p) ? WRITE_COALESCE : WRITE_MORE;
        if (action->how == WRITE_MORE)
            add32(&p->pending, w->bytes);
    } else if (UNLIKELY(p->app_cork && p->unsure && p->pending && p->mode != MODE_OFF)) {
        action->need_facts = true; /* the listener's cork may have been set after the handshake */
    } else if (UNLIKELY(w->more || p->app_cork)) {
        p->app_more = p->app_more || w->more;
        add32(&p->pending, w->bytes);
    } else {
        unit_ends(p, limits, w->bytes + p->pending, action);
        if (LIKELY(!action->need_facts)) {
            p->app_more = false;
            p->pending = 0;
        }
    }
    if (UNLIKELY(action->need_facts))
        return;
    action->small_write = is_small_write(p, limits->small, w->bytes);
    if (action->small_write)
        count16(&p->small_writes);
    action->burst = action->small_write && p->small_writes == 2;
    action->new_message = p->message_bytes == 0;
    add32(&p->message_bytes, w->bytes);
    if (UNLIKELY(p->buffer_limit && p->message_bytes > p->buffer_limit && !p->sndbuf_maybe_full))
        p->sndbuf_maybe_full = p->large = true;
}

/* True: this read may have left input. */
INLINE bool policy_leaves_input(size_t bytes, size_t asked) {
    return bytes == asked && asked >= PENDING_READ;
}

/* A read returned `bytes` of `asked` bytes; `at_once`: they were there already (policy_times_read). */
INLINE void policy_input(struct policy *p, size_t bytes, size_t asked, bool at_once) {
    if (p->turns == 1 && !p->kept_turn)
        p->goes_on = 0;
    p->kept_turn = false;
    if (p->message_bytes) { /* else more of the same input */
        p->may_cross = false;
        if (p->read_full || p->units > 1)
            policy_crossing_signs(p, at_once);
    }
    /* by masks: of single bits the compiler would make 25 instructions more */
    uint32_t facts = p->facts | POLICY_FACTS(.input_ever = true, .established = true);
    facts &= ~POLICY_FACTS(.read_full = true, .input_pending = true, .one_way = true);
    if (UNLIKELY(p->refuses))
        facts &= ~POLICY_FACTS(.established = true);
    if (bytes == asked)
        facts |= POLICY_FACTS(.read_full = true);
    if (UNLIKELY(policy_leaves_input(bytes, asked)))
        facts |= POLICY_FACTS(.input_pending = true);
    STORE(&p->facts, facts); /* `mode` is read without the lock */
    if (UNLIKELY(p->large)) {
        if (p->message_bytes <= ANSWERED) /* a peer usually reads a message before it answers */
            p->sndbuf_maybe_full = false;
        p->large = false;
    }
    /* input that comes within a turn may be older than what the turn has sent, and acknowledge none of it */
    if (LIKELY(p->position == 0 || p->mode != MODE_COALESCE))
        p->units = 0, p->smalls = 0;
    p->turns = 0;
    p->small_writes = 0;
    p->message_bytes = 0;
    p->pending = 0;
}

/* Mode off: input has ended the message.  Without the lock. */
INLINE void policy_forget_message(struct policy *p) {
    STORE(&p->message_bytes, 0);
    STORE(&p->small_writes, 0);
}

/* ---- the end of a turn -------------------------------------------------- */

/* A turn ended at a wait, not by the window: update the model. */
static inline void policy_turn_ends(struct policy *p) {
    if (p->position == 0)
        return;
    if (p->position >= 2 && p->nodelay && !p->app_nodelay)
        becomes_bursty(p);
    if (p->bursty) /* becomes_bursty() clears anything that was learned before */
        turn_learn(&p->model, p->position);
    if (UNLIKELY(p->window_ends))
        policy_window_turn_ends(p);
    if (p->mode == MODE_COALESCE)
        p->single_turns = (uint8_t)(p->position > 1 ? 0 : p->single_turns + (p->single_turns < HABIT));
    p->position = 0;
}

/* Decides about a write whose turn has buffered bytes.  True: counts the write; the caller buffers it too.
 * False: counts nothing.  limits->room is not 0 only in coalesce and where holds are allowed.  No other
 * fact needs a test: any event that forbids holds (an option, untracked I/O, another mode) has already
 * sent the buffered bytes. */
static inline bool policy_buffers_on(struct policy *p, const struct policy_limits *limits, size_t bytes) {
    if (!has_size_to_hold(limits, bytes) || !has_room(p, limits, bytes) || !p->established ||
        p->message_bytes == 0)
        return false;
    p->message_bytes += (uint32_t)bytes;
    if (is_small_write(p, limits->small, bytes))
        count16(&p->small_writes);
    count16(&p->position);
    return true;
}

#endif
