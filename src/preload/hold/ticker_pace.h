/* SPDX-License-Identifier: MIT
 *
 * The length of the next tick of the window's thread (ticker_thread.c), from what the last ticks have found.
 */
#ifndef UNSTALL_TICKER_PACE_H
#define UNSTALL_TICKER_PACE_H

#include "config.h"

enum {
    LONGEST_TICK_US = 4000,
    CALM_TICK_US = 8000, /* a tick of 1 ms costs 3.5 % of a core, this one 0.5 % */
    CALM_AFTER = 16,     /* ticks in which every hold ended by itself */
    BUSY_AFTER = 16,     /* ticks that found a hold which had ended at the next tick */
};

static inline uint32_t tick_us(void) {
    uint32_t window = config()->window_us;
    return window < LONGEST_TICK_US ? window : LONGEST_TICK_US;
}

/* A window of many ticks: the ticks do not count, because a late tick is followed by an early one. */
static inline bool window_is_long(void) {
    return config()->window_us > LONGEST_TICK_US;
}

/* The result of a tick. */
struct tick {
    uint64_t number;
    uint64_t ns;  /* its time */
    bool waits;   /* some bytes are held: look again after one window */
    bool expired; /* a hold was older than the window */
};

/* The time between ticks.  While all turns end by themselves, a tick every 8 ms is enough: a hold
 * that it finds is checked again one window later.  With many connections some turn is always
 * open, and this rule would give a tick every window.  The tick is then 4.5 ms (for a window of
 * 1 ms), and a hold that two ticks find is too old.  In both cases no hold lasts longer than a
 * window and 8 ms. */
struct pace {
    unsigned calm; /* ticks since the last that found a hold older than the window */
    unsigned open; /* how often recent ticks found a hold and none too old */
    bool waits;    /* the last tick found a hold */
    bool slow;     /* the last tick took 8 ms */
};

static inline uint32_t next_tick_us(struct pace *p) {
    bool busy = p->open >= BUSY_AFTER;
    bool soon = p->calm < CALM_AFTER || (p->waits && (p->slow || !busy));
    p->slow = !soon && !busy;
    return soon ? tick_us() : busy ? (tick_us() + CALM_TICK_US) / 2 : CALM_TICK_US;
}

static inline void keep_pace(struct pace *p, const struct tick *seen) {
    p->waits = seen->waits;
    p->calm = seen->expired ? 0 : p->calm + 1;
    if (seen->expired)
        p->open = 0;
    else if (!seen->waits)
        p->open -= p->open > 0;
    else if (p->open < BUSY_AFTER * 2)
        p->open++;
}

#endif
