/* SPDX-License-Identifier: MIT
 *
 * The window's thread: pushes bytes that a computing thread has held longer than the window, and sends
 * buffered bytes that the kernel did not take at once.  docs/design.md, "The window", says when it exists,
 * starts, ticks and ends.
 */
#ifndef UNSTALL_WINDOW_H
#define UNSTALL_WINDOW_H

#include "config.h"
#include "conn.h"

/* ---- its state, and the beginning of a hold ------------------------------ */

enum window_state {
    WINDOW_NONE,    /* not decided: the next hold may start a thread */
    WINDOW_RUNS,    /* a thread keeps the window */
    WINDOW_WITHOUT, /* no thread, until a connection of mode coalesce needs one */
    WINDOW_NEVER,   /* no thread, for no mode */
    WINDOW_STOPS,   /* the thread is about to end: from here on nothing may be held */
    WINDOW_REFUSED, /* no thread could be started */
};

/* There is no window: the kernel's own timer bounds a hold. */
static inline bool window_windowless(enum window_state state) {
    return state == WINDOW_WITHOUT || state == WINDOW_NEVER;
}

extern INTERNAL int window_now; /* enum window_state */

static inline enum window_state window_state(void) {
    return (enum window_state)LOAD_ACQUIRE(&window_now);
}

/* True if the state must be decided before this connection may hold. */
static inline bool window_undecided(enum window_state state, const struct policy *p) {
    return state == WINDOW_NONE ? policy_might_hold(p)
                                : state == WINDOW_WITHOUT && p->mode == MODE_COALESCE;
}

extern INTERNAL window_tick window_ticks; /* ticks so far, the present one included */

bool window_watch_slow(struct conn *c);
bool window_watch_without(struct conn *c);

/* The connection begins to hold.  Lock held; called before the send.  False: nothing bounds
 * this hold, so the caller must release it. */
static inline bool window_watch(struct conn *c) {
    enum window_state state = window_state();
    if (window_windowless(state))
        return window_watch_without(c);
    STORE(&c->held_tick, LOAD(&window_ticks));
    /* a thread that is about to end releases all connections of its list, after this lock */
    return LIKELY(state == WINDOW_RUNS) && (LIKELY(c->ticking) || window_watch_slow(c));
}

/* Of window.c alone.  A stack of connections: callers push, the thread takes all. */
extern INTERNAL struct conn *window_incoming;

/* ---- its life --------------------------------------------------------------- */

/* The id of the process that has, or had, a window's thread; 0: none yet. */
extern INTERNAL int window_process;

/* Runs before the first hold or the first buffered write, which is number `position` of its turn, from 1:
 * starts the thread if the program needs it.  Where it stays undecided (WINDOW_NONE), nothing may be held
 * now.  Position 0: for bytes that wait already, also in the pause after a change of rights.  Takes no
 * connection's lock; the caller must hold none. */
void window_decide(bool buffers, unsigned position);

/* Ends the thread and waits for its end.  The next hold decides again.  True: it ran. */
bool window_stop(void);

/* The same, and the thread does not start until window_unbar(), which takes the result.  `rights`: for a
 * change of rights.  In a program with threads it then starts no sooner than 100 ms after window_unbar(), and
 * after the sixteenth such stop it starts no more. */
uint32_t window_bar(bool rights);
void window_unbar(uint32_t barred);

/* True if the thread has this id. */
bool window_is_task(long task);

/* True: bytes of c wait, or did a moment ago: the kernel had no room, or another thread that has the lock is
 * stopped.  Without the lock. */
static inline bool window_has_bytes(const struct conn *c) {
    return LOAD(&c->buffer) || conn_has_aside(c) || LOAD(&c->lingering);
}

/* True if any connection has. */
bool window_any_has_bytes(void);

/* The thread was stopped and the process goes on: it starts again for such bytes. */
void window_goes_on(void);

/* Returns the number of tasks of this process; 0: unknown. */
unsigned window_tasks(void);

/* The program has a thread of its own now: the next hold decides again. */
void window_threads_seen(void);

/* The calling thread ends by SYS_exit.  libc still counts it, and will not end the process after the last
 * other thread.  From now on the end of each thread stops the window's thread. */
void window_task_exits(void);
void window_thread_ends(void);

/* Runs in the child of a fork, which has one thread. */
void window_forked(void);

/* ---- its pace: the length of the next tick, from what the last ticks have found ---------- */

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
    window_tick number;
    uint64_t ns;  /* its time */
    bool holds;   /* a hold has begun since the tick before, or lasts */
    bool waits;   /* some bytes are held: look again after one window */
    bool expired; /* a hold was older than the window */
};

/* The time between ticks.  While all turns end by themselves, a tick every 8 ms is enough: a hold that it
 * finds is checked again one window later.  With many connections some turn is always open, and this rule
 * would give a tick every window.  The tick is then 4.5 ms (for a window of 1 ms), and a hold that two ticks
 * find is too old.  In both cases no hold lasts longer than a window and 8 ms. */
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
