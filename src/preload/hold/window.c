/* SPDX-License-Identifier: MIT
 *
 * The window's thread.  It exists while something is held and 100 ms longer, and ends every hold that is
 * older than the window.
 *
 * Who calls whom.  A thread that holds or buffers puts its connection on a list (window_watch():
 * one store if it is there already).  Before the first hold the write road asks
 * window_decide() whether a thread shall run at all; it may start one.  run() then sleeps a tick, walks
 * the list, and for each connection that is still held calls hold_window_ends().  It is the only reader of
 * the list; others only push onto `window_incoming`.
 *
 * It sleeps until the next tick in sleep_us(), a futex wait on `stopping`, which window_stop() sets before it
 * wakes.  After 100 ms without a connection on the list it ends: exit_if_idle() sets the state and then reads
 * `window_incoming`; a holder pushes onto that and then reads the state.  Both are sequentially consistent:
 * one of them sees the other.
 *
 * Who owns what.  `start_lock` guards the state (window_now), the start and the wish to end; no
 * connection's lock is taken under it.  window_stop() sets WINDOW_STOPS, so that no hold begins, wakes the
 * thread, and waits for it without a lock.  A caller that must not have a second task (a change of rights,
 * fork) keeps it away by window_bar() until window_unbar().
 *
 * A handler may interrupt any caller: the locks are those of lock.h.  In the child of a fork there is no
 * such thread: window_forked() starts from nothing.  Another thread may be stopped anywhere: nobody waits
 * for it without a bound (raw_thread_join).
 */
#include "window.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/prctl.h>

#include "turn.h"
#include "fds.h"
#include "raw_thread.h"
#include "reentry.h"
#include "stats_file.h"

enum {
    ENOUGH_STOPS = 16,   /* by changes of rights; then the thread starts no more */
    LINGER_TICKS = 10,   /* of a connection on the list, since its last hold; at most 80 ms */
    LONG_TURN = 4,       /* writes: more segments would cost more than a start (7 µs each) */
    IDLE_NS = 100000000, /* after the last hold, before the thread ends: another start costs 30 µs */
    PAUSE_OF_TURNS_NS = 100000000, /* a turn that wants to hold so long after another does not start it */
    PAUSE_NS = 100000000, /* after a change of rights: libpsx then signals each task, waits for answers */
};

#define BARRED (UINT32_C(1) << 31)
#define RIGHTS (UINT32_C(1) << 30)

int window_process;
static uint32_t start_lock;
static struct raw_thread thread;
static uint32_t thread_lock_tag;        /* thread_tag() of it: the same at each start */
static uint64_t thread_debt;            /* its wait_debt goes on at the next start (lock.c) */
static bool threads_seen;               /* the program has made a thread of its own */
static bool tasks_exit;                 /* such a thread has ended by SYS_exit */
static uint32_t stopping;               /* futex: 1 tells the thread to end */
static uint32_t start_inhibitors;       /* calls under way during which no thread may start */
static uint32_t stop_count;             /* how often a change of rights has ended the thread */
static uint64_t paused_until;           /* by clock_coarse(): no thread starts before */
static uint64_t last_unserved_hold_ns;  /* by clock_coarse(): the last turn that wanted to hold without it */

/* ---- a hold begins ------------------------------------------------------- */

int window_now;
window_tick window_ticks = 1;
struct conn *window_incoming;

bool window_watch_slow(struct conn *c) {
    c->ticking = true;
    struct conn *top = LOAD(&window_incoming);
    do
        c->next_ticking = top;
    while (!REPLACE(&window_incoming, &top, c, __ATOMIC_SEQ_CST));
    return __atomic_load_n(&window_now, __ATOMIC_SEQ_CST) == WINDOW_RUNS;
}

bool window_watch_without(struct conn *c) {
    STORE(&c->habit_ns, clock_coarse());
    if (UNLIKELY(LOAD(&endpoint_late[c->endpoint].watched)) && c->policy.mode == MODE_AUTO &&
        !config()->no_syscalls) {
        self.hold.of = kernel->usage(&self.hold.used) == 0 ? c : NULL;
        self.hold.since = c->habit_ns;
    }
    return c->buffer == NULL;
}

/* ---- the thread ------------------------------------------------------ */

/* The time of each of the last ticks, by clock_now(). */
enum { TICKS_KEPT = 64 };
_Static_assert(WINDOW_MAX_US / LONGEST_TICK_US < TICKS_KEPT / 2, "a hold outlives its tick");
static uint64_t tick_times[TICKS_KEPT];

/* True: a hold that began between tick `since` and the next one is as old as the window, but for an eighth
 * of a tick: a wake-up that is a little early does not cost a tick. */
static bool window_is_over(uint64_t since, const struct tick *now) {
    uint64_t age = now->number - since;
    if (!window_is_long() || age >= TICKS_KEPT)
        return age >= 2;
    uint64_t least_us = config()->window_us - LONGEST_TICK_US / 8;
    return age > 0 && now->ns - tick_times[(since + 1) % TICKS_KEPT] >= least_us * 1000;
}

/* Checks a connection without its lock, because a writing thread would have to wait for the lock.  Most
 * connections need nothing: holds begin and end a thousand times between two ticks. */
static bool needs_nothing(const struct conn *c, struct tick *now) {
    if (LOAD(&c->lingering))
        return false;
    uint64_t since = LOAD(&c->held_tick);
    bool waits = LOAD(&c->held) || LOAD(&c->buffer);
    if (window_is_over(since, now))
        return !waits && now->number - since < LINGER_TICKS;
    now->waits |= waits;
    now->holds = true;
    return true;
}

/* Checks one connection in one tick.  True: keep it on the list. */
static bool check_hold(struct conn *c, struct tick *now) {
    if (needs_nothing(c, now) || !conn_trylock(c))
        return true; /* a thread inside the library has the lock, for a short time */
    bool lingers = c->lingering && c->refs > 0, stays = true;
    uint64_t age = now->number - c->held_tick;
    bool is_ours = !c->flush_blocked && !c->draining; /* else only the peer ends it, which may never read */
    if (c->refs > 0 && (c->held || buffer_length(c) > 0)) {
        now->waits |= is_ours;
        if (window_is_over(c->held_tick, now)) {
            now->expired |= is_ours;
            hold_window_ends(c);
        }
    } else if (!lingers && age >= LINGER_TICKS) {
        c->ticking = false;
        stays = false;
    }
    if (lingers && buffer_length(c) == 0)
        close_linger_ends(c); /* unlocks */
    else
        conn_unlock(c);
    return stays;
}

/* Stores into a connection only when another leaves the list: writing threads use its first cache line. */
static struct conn *check_all(struct conn *list, struct tick *now) {
    for (struct conn **at = &list; *at;) {
        struct conn *c = *at, *next = c->next_ticking;
        __builtin_prefetch(next);
        if (check_hold(c, now))
            at = &c->next_ticking;
        else
            *at = next;
    }
    return list;
}

static struct conn *take_incoming(struct conn *list) {
    struct conn *c = __atomic_exchange_n(&window_incoming, NULL, __ATOMIC_SEQ_CST);
    while (c) {
        struct conn *next = c->next_ticking;
        c->next_ticking = list;
        list = c;
        c = next;
    }
    return list;
}

/* The ticks end: pushes all held bytes now. */
static void push_all(struct conn *list) {
    for (struct conn *c = take_incoming(list), *next; c; c = next) {
        next = c->next_ticking;
        bool locked = conn_lock(c);
        if (locked)
            hold_push(c, PUSH_PROCESS);
        else
            reentry_set_aside(c, ASIDE_PUSH, 0);
        c->ticking = false;
        if (locked)
            conn_unlock(c);
    }
}

/* The thread ends by itself, so that an idle program has no such thread, and the thread does not outlive the
 * program's own threads.  False: bytes are held again.  The order prevents a race: a writing thread puts its
 * connection on the list and then reads the state; this function sets the state and then reads the list. */
static bool exit_if_idle(void) {
    if (!spin_trylock(&start_lock))
        return false;
    if (LOAD(&stopping)) { /* window_stop() has the state */
        spin_unlock(&start_lock);
        return false;
    }
    bool refused = LOAD(&stop_count) >= ENOUGH_STOPS; /* it ran for bytes that were left */
    __atomic_store_n(&window_now, refused ? WINDOW_REFUSED : WINDOW_NONE, __ATOMIC_SEQ_CST);
    bool leaves = !__atomic_load_n(&window_incoming, __ATOMIC_SEQ_CST);
    if (!leaves)
        __atomic_store_n(&window_now, WINDOW_RUNS, __ATOMIC_SEQ_CST);
    spin_unlock(&start_lock);
    return leaves;
}

/* Sleeps until one tick after the last one, `due`.  In a window of many ticks the delays of the
 * wake-ups must not add up.  After a delay of more than a tick the series starts anew. */
static void sleep_us(uint32_t us, bool adds_up, uint64_t *due) {
    uint64_t now = clock_now(), ns = (uint64_t)us * 1000;
    *due += ns;
    if (!adds_up || *due + ns < now)
        *due = now + ns;
    struct timespec until = {.tv_sec = (time_t)(*due / 1000000000),
                             .tv_nsec = (long)(*due % 1000000000)};
    raw6(SYS_futex, (long)&stopping, FUTEX_WAIT_BITSET_PRIVATE, 0, (long)&until, 0,
         FUTEX_BITSET_MATCH_ANY);
}

static void take_my_tag(void) {
    if (thread_lock_tag)
        self.tag = thread_lock_tag; /* tags are few: the thread may start often */
    else
        thread_lock_tag = thread_tag();
    lock_bits_make(); /* without a watch of its end: libc does not know this thread */
    self.wait_debt = thread_debt;
}

static void run(void) {
    take_my_tag();
    raw2(SYS_prctl, PR_SET_TIMERSLACK, 1);
    raw2(SYS_prctl, PR_SET_NAME, "unstall");
    struct conn *list = NULL;
    struct tick tick = {0};
    struct pace pace = {0};
    uint64_t due = 0, used = clock_now();
    bool leaves = false;
    while (!leaves && !__atomic_load_n(&stopping, __ATOMIC_SEQ_CST)) {
        bool is_long = window_is_long();
        sleep_us(is_long ? tick_us() : next_tick_us(&pace), is_long, &due);
        tick = (struct tick){.number = __atomic_add_fetch(&window_ticks, 1, __ATOMIC_RELAXED),
                             .ns = clock_now()};
        tick_times[tick.number % TICKS_KEPT] = tick.ns;
        if (control_changed())
            sweep_told();
        list = check_all(take_incoming(list), &tick);
        keep_pace(&pace, &tick);
        if (tick.holds)
            used = tick.ns;
        else if (!list && tick.ns - used >= IDLE_NS)
            leaves = exit_if_idle();
    }
    if (!leaves)
        push_all(list);
    buffer_thread_ends();
    thread_debt = self.wait_debt;
}

/* ---- start and end --------------------------------------------------- */

/* Counts the tasks without opening a descriptor: /proc/PID/task has two links of its own and one
 * for each task (proc_task_getattr in fs/proc/base.c of the kernel). */
unsigned window_tasks(void) {
    raw_stat st = {0};
    long error = raw4(RAW_STAT_AT, AT_FDCWD, "/proc/self/task", &st, 0);
    return error == 0 && st.st_nlink > 2 ? (unsigned)st.st_nlink - 2 : 0;
}

/* A program that exchanges one message a second would wait in each for the thread's start (30 to 80 µs;
 * docs/benchmarks.md).  So the second turn that wants to hold within 100 ms starts it, or a long turn.  Until
 * then TCP_NODELAY lets each write leave as a segment of its own.  coalesce starts it at once: what a buffer
 * joins does not depend on pauses.  start_lock held. */
static bool waits_for_another_turn(bool buffers, unsigned position) {
    if (config()->thread == THREAD_ALWAYS || buffers || position >= LONG_TURN)
        return false;
    uint64_t before = last_unserved_hold_ns, now = clock_coarse();
    last_unserved_hold_ns = now;
    bool same_turn = position > 1 && now == before; /* with a gap of a tick it may be another one */
    return !before || now - before > PAUSE_OF_TURNS_NS || same_turn;
}

/* start_lock held. */
static enum window_state decide(bool buffers, unsigned position) {
    enum thread_use use = (enum thread_use)config()->thread;
    bool wanted = use == THREAD_ALWAYS ||
                  (use == THREAD_OWN && (buffers || LOAD(&threads_seen) || window_tasks() > 1));
    if (wanted && waits_for_another_turn(buffers, position))
        return WINDOW_NONE;
    if (!kernel_allows_holds())
        return WINDOW_REFUSED;
    if (!wanted)
        return use == THREAD_NEVER ? WINDOW_NEVER : WINDOW_WITHOUT;
    uint64_t until = position ? LOAD(&paused_until) : 0;
    if (until && clock_coarse() < until)
        return WINDOW_NONE;
    if (!raw_thread_is_gone(&thread))
        return WINDOW_NONE; /* it was told to end, and has not yet: `stopping` stays */
    __atomic_store_n(&stopping, 0, __ATOMIC_SEQ_CST);
    STORE(&window_process, (int)raw0(SYS_getpid));
    int error = raw_thread_start(&thread, run);
    return error == -EBUSY ? WINDOW_NONE : error ? WINDOW_REFUSED : WINDOW_RUNS;
}

void window_decide(bool buffers, unsigned position) {
    STORE(&hold_acted, true);
    if (!spin_lock(&start_lock))
        return;
    enum window_state state = window_state();
    if (!config()->no_syscalls && !LOAD(&start_inhibitors) &&
        (state == WINDOW_NONE || (state == WINDOW_WITHOUT && buffers) ||
         (state == WINDOW_REFUSED && position == 0)))
        __atomic_store_n(&window_now, (int)decide(buffers, position), __ATOMIC_SEQ_CST);
    spin_unlock(&start_lock);
}

bool window_is_task(long task) {
    return task > 0 && LOAD(&thread.id) == task;
}

/* The thread is waited for without the lock: WINDOW_STOPS keeps others from a start.  It has left, or has
 * been stopped: then it holds nothing from now on, and the next one starts when it has left. */
bool window_stop(void) {
    if (!spin_lock(&start_lock))
        return false;
    bool runs = window_state() == WINDOW_RUNS;
    if (runs) {
        /* from now on no hold begins; a thread about to hold sees the state in window_watch() */
        __atomic_store_n(&window_now, WINDOW_STOPS, __ATOMIC_SEQ_CST);
        __atomic_store_n(&stopping, 1, __ATOMIC_SEQ_CST);
    }
    spin_unlock(&start_lock);
    if (runs)
        raw3(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, 1);
    raw_thread_join(&thread); /* it may also be about to end by itself */
    if (runs) {
        push_all(NULL);
        __atomic_store_n(&window_now, WINDOW_NONE, __ATOMIC_RELEASE);
    }
    return runs;
}

uint32_t window_bar(bool rights) {
    __atomic_add_fetch(&start_inhibitors, 1, __ATOMIC_SEQ_CST);
    if (window_stop() && rights && __atomic_add_fetch(&stop_count, 1, __ATOMIC_RELAXED) >= ENOUGH_STOPS)
        __atomic_store_n(&window_now, WINDOW_REFUSED, __ATOMIC_SEQ_CST);
    return BARRED | (rights ? RIGHTS : 0) | fork_generation;
}

void window_unbar(uint32_t barred) {
    if ((barred & ~RIGHTS) != (BARRED | fork_generation))
        return; /* a handler has forked meanwhile */
    if ((barred & RIGHTS) && LOAD(&threads_seen)) /* which may hold while the caller changes them all */
        STORE(&paused_until, clock_coarse() + PAUSE_NS);
    __atomic_sub_fetch(&start_inhibitors, 1, __ATOMIC_SEQ_CST);
}

void window_threads_seen(void) {
    int without = WINDOW_WITHOUT;
    STORE(&threads_seen, true);
    REPLACE(&window_now, &without, WINDOW_NONE, __ATOMIC_SEQ_CST);
}

/* The thread may have been stopped, and have gone on without c, while c's holder stood still. */
void conn_waits(struct conn *c) {
    if (window_state() != WINDOW_RUNS)
        window_decide(true, 0);
    window_watch(c);
}

bool window_any_has_bytes(void) {
    bool any = false;
    FDS_LOOK(c)
        any |= window_has_bytes(c);
    return any;
}

void window_goes_on(void) {
    if (!config()->buffers || !window_any_has_bytes())
        return;
    window_decide(true, 0);
    if (window_state() != WINDOW_RUNS)
        hold_push_buffers(false);
    FDS_EACH(c)
        if (buffer_length(c) || c->lingering)
            window_watch(c);
}

void window_task_exits(void) {
    STORE(&tasks_exit, true);
    window_thread_ends();
}

void window_thread_ends(void) {
    if (LIKELY(!LOAD(&tasks_exit)))
        return;
    window_stop();
    if (config()->buffers && !config()->no_syscalls && window_tasks() > 1)
        window_goes_on(); /* bytes may remain for which the kernel had no room */
}

void window_forked(void) {
    raw_thread_forked(&thread);
    window_now = WINDOW_NONE;
    threads_seen = tasks_exit = false;
    window_incoming = NULL;
    stopping = start_inhibitors = stop_count = 0;
    paused_until = last_unserved_hold_ns = 0;
}
