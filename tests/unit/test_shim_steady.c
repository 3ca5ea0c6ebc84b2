/* SPDX-License-Identifier: MIT
 *
 * The quiet and the steady path act as the long path: the same exchanges are played twice, once by the
 * long path alone, once as the exports choose the path.  After each step both have made the same calls and
 * left the same connection.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../bench/undecided.h"
#include "chance.h"
#include "coalesce_buffer.h"
#include "config.h"
#include "cookies.h"
#include "decide.h"
#include "hold.h"
#include "real.h"
#include "stopped_clock.h"
#include "whole.h"

enum { PLAYS = 1000, STEPS = 300, EXCHANGE = 48 /* steps, at the most */, LOG = 96, FD = 5, OTHER_FD = 6 };

struct step {
    char what[24], log[LOG];
    ssize_t result;
    struct policy policy;
    struct conn_counts counts;
    uint64_t wait_began, held_since;
    size_t buffered;
    bool held, turn, owned, steady, quiet;
    uint8_t turn_end;
    uint16_t depth;
};

static bool by_exports;
static struct step *next_step;
static struct conn *c;
static ssize_t reading;

/* ---- chance and time ----------------------------------------------------- */

static uint32_t calm;   /* the more, the less often a play leaves its habit */
static bool windowless; /* without coalesce, which would start a thread */

static bool one_in(uint32_t n) {
    return draw(n) == 0;
}

static ssize_t reads_some(int fd, void *buffer, size_t bytes) {
    (void)fd, (void)buffer, (void)bytes;
    time_ns += 20000;
    errno = EAGAIN;
    return reading;
}

/* ---- steps --------------------------------------------------------------- */

static void note(const char *what, ssize_t result) {
    struct step *s = next_step++;
    snprintf(s->what, sizeof(s->what), "%s", what);
    snprintf(s->log, sizeof(s->log), "%s", fake_log());
    s->result = result;
    memcpy(&s->policy, &c->policy, sizeof(s->policy));
    s->counts = c->counts;
    s->wait_began = c->wait_began;
    s->held_since = c->held ? c->held_since : 0;
    s->held = c->held;
    s->buffered = buffer_length(c);
    s->turn = self.turn == c;
    s->owned = c->turn_owner == &self;
    s->turn_end = c->turn_end;
    s->steady = c->quiet == STEADY_HOLDS || c->quiet == STEADY_WROTE;
    s->quiet = c->quiet == QUIET_WROTE && (c->policy.mode == MODE_COALESCE || c->policy.mode == MODE_OFF);
    s->depth = self.depth;
}

static void writes(size_t bytes) {
    static char all[8192];
    fake_real.count = 0;
    ssize_t answer = one_in(10 * calm) ? -EAGAIN : one_in(10 * calm) ? 1 : 0;
    /* In off the long path counts a write after its call: one that fails leaves another state there. */
    bool succeeds = c->policy.mode == MODE_COALESCE || c->policy.mode == MODE_OFF;
    fake_real.answers[0] = succeeds ? 0 : answer;
    int flags = one_in(20 * calm) ? MSG_MORE : MSG_NOSIGNAL;
    bool sends = draw(2);
    ssize_t result;
    enum quiet quiet = by_exports ? shim_quiet(FD) : QUIET_NOT;
    if (!sends)
        result = quiet == QUIET           ? shim_write_quiet(FD, all, bytes, 0)
                 : quiet & TAKES_WRITE    ? shim_write_steady(FD, all, bytes, 0)
                                          : shim_write_fast(FD, all, bytes, 0, FORM_WRITE, 0);
    else
        result = quiet == QUIET           ? shim_send_quiet(FD, all, bytes, flags, 0)
                 : quiet & TAKES_WRITE    ? shim_send_steady(FD, all, bytes, flags, 0)
                                          : shim_write_fast(FD, all, bytes, flags, FORM_SEND, 0);
    note(sends ? "send" : "write", result);
    time_ns += 10000;
}

static void reads(void) {
    static char room[4096];
    reading = one_in(20 * calm) ? 4096 : one_in(20 * calm) ? -1 : 100;
    struct conn *turn = self.turn;
    bool quiet = by_exports && turn && (turn->quiet & WANTS_ANSWER);
    note("read", quiet ? shim_read_quiet(FD, room, sizeof(room), turn) : shim_read(FD, room, sizeof(room)));
}

static void sets_the_mode(void) {
    static const enum mode modes[] = {MODE_CORK, MODE_OFF, MODE_AUTO, MODE_COALESCE};
    config_switch(modes[draw(windowless ? 3 : 4)], false);
}

/* Events between two calls. */
static void an_event(void) {
    static struct thread other;
    switch (draw(12)) {
    case 0:
        time_ns += 12 * MS;
        fake.usage.cpu_ns += one_in(2) ? 12 * MS : 0;
        fake.usage.lost++;
        return note("12 ms", 0);
    case 1: nodelay_epoch++; return note("a child", 0);
    case 2: sets_the_mode(); return note("a setting", 0);
    case 3: hold_refused = !hold_refused; return note("the process ends", 0);
    case 4: ticker_now = windowless ? TICKER_WITHOUT : TICKER_RUNS; return note("thread", 0);
    case 5: ticker_now = ticker_now == TICKER_STOPS ? TICKER_RUNS : TICKER_STOPS; return note("stops", 0);
    case 6: whole_write(OTHER_FD, "x"); return note("another turn", 0);
    case 7:
        if (c->endpoint && one_in(2))
            endpoint_late[c->endpoint].watched = true;
        else if (c->endpoint)
            endpoint_late[c->endpoint].nodelay_only = true;
        return note("endpoint", 0);
    case 8: self.ends_watched = !self.ends_watched; return note("watched", 0);
    default: break;
    }
    conn_lock(c);
    switch (draw(3)) {
    case 0: hold_window_ends(c); break;
    case 1: c->turn_owner = c->turn_owner ? &other : NULL; break;
    default: c->policy.never_hold = one_in(4); break;
    }
    conn_unlock(c);
    note("the lock", 0);
}

/* By the short path the turn is only left, until the next lock: nothing to compare yet. */
static void waits(void) {
    if (hold_before_poll(one_in(4 * calm))) {
        hold_asked(one_in(2));
        hold_end_turn(PUSH_WAIT);
    }
    time_ns += draw(2) * MS;
}

static void exchange(unsigned pieces) {
    if (one_in(2 * calm))
        pieces = 1 + draw(5);
    for (unsigned i = 0; i < pieces; i++) {
        if (one_in(10 * calm))
            an_event();
        bool waited = i > 0 && one_in(2 * calm);
        if (waited)
            waits();
        bool nothing = one_in(20 * calm) && !waited; /* a write of no bytes takes no lock behind a wait */
        writes(one_in(10 * calm) ? 1 + draw(8000) : nothing ? 0 : 1 + draw(500));
    }
    if (one_in(10 * calm))
        an_event();
    if (one_in(4))
        waits();
    reads();
}

static void play(unsigned number) {
    chance = UINT64_C(88172645463325252) + number * UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < 8; i++)
        draw(2);
    windowless = draw(2);
    whole_start_in(one_in(8) ? MODE_OFF : windowless || draw(2) ? MODE_AUTO : MODE_COALESCE);
    clock_get = stopped_clock;
    real_read = (void *)(uintptr_t)reads_some;
    hold_refused = false;
    ticker_now = windowless ? TICKER_WITHOUT : TICKER_RUNS;
    fake.mss = draw(2) ? 1460 : 400;
    hold_watch_thread_end();
    self.turn = NULL;
    memset(endpoint_late, 0, sizeof(endpoint_late));
    whole_connected(OTHER_FD);
    c = whole_connected(FD);
    if (draw(2)) /* as at a new endpoint */
        c->policy.bursty = c->policy.from_cache = false;
    struct step *end = next_step + STEPS;
    calm = 1u << (2 * draw(5));
    unsigned pieces = one_in(3) ? 1 : one_in(8) ? 15 + draw(4) : 2 + draw(3);
    while (next_step + EXCHANGE < end)
        exchange(pieces);
    next_step = end;
    hold_end_turn(PUSH_WAIT);
    shim_closing(FD);
    shim_closing(OTHER_FD);
}

/* ---- both ways ----------------------------------------------------------- */

/* All plays, in a process of their own: the endpoint cache begins empty. */
static struct step *all_plays(bool exports) {
    size_t size = sizeof(struct step) * PLAYS * STEPS;
    struct step *steps = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT(steps != MAP_FAILED);
    pid_t child = fork();
    if (child == 0) {
        by_exports = exports;
        next_step = steps;
        for (unsigned i = 0; i < PLAYS; i++)
            play(i);
        _exit(0);
    }
    int status = -1;
    ASSERT(waitpid(child, &status, 0) == child);
    EXPECT_INT("the plays", status, 0);
    return steps;
}

static bool same(const struct step *a, const struct step *b) {
    struct step x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    x.steady = y.steady = x.quiet = y.quiet = false;
    return memcmp(&x, &y, sizeof(x)) == 0;
}

Test(shim_steady, it_does_what_the_long_path_does) {
    const struct step *slow = all_plays(false), *fast = all_plays(true);
    int held = 0, last = 0, quiet = 0, off = 0;
    for (int i = 0; i < PLAYS * STEPS; i++) {
        cr_assert(same(&slow[i], &fast[i]), "play %d, step %d, %s: %zd %s, not %zd %s", i / STEPS, i % STEPS,
                  fast[i].what, fast[i].result, unit_plain(fast[i].log), slow[i].result,
                  unit_plain(slow[i].log));
        cr_assert(fast[i].depth == 0, "play %d, step %d, %s: depth", i / STEPS, i % STEPS, fast[i].what);
        held += fast[i].steady && fast[i].held;
        last += fast[i].steady && !fast[i].held;
        quiet += fast[i].quiet && fast[i].policy.mode == MODE_COALESCE;
        off += fast[i].quiet && fast[i].policy.mode == MODE_OFF;
    }
    EXPECT_INT("held", held > 4 * PLAYS, true);
    EXPECT_INT("last", last > 2 * PLAYS, true);
    EXPECT_INT("quiet in coalesce", quiet > PLAYS / 5, true);
    EXPECT_INT("quiet in off", off > PLAYS, true);
}

/* ---- the simulator ------------------------------------------------------- */

static enum undecided next;
static unsigned compared[2];

static void write_is_compared(size_t bytes) {
    bool told = needs_decision(&next, &c->policy, config()->small, bytes);
    writes(bytes);
    next_step--;
    bool decided = c->quiet == QUIET_NOT;
    cr_assert(told == decided, "mode %d, write of %zu at %d: %s", c->policy.mode, bytes, c->policy.position,
              decided ? "decided" : "not decided");
    compared[decided]++;
}

static void conversation(enum mode mode) {
    whole_start_in(mode);
    clock_get = stopped_clock;
    real_read = (void *)(uintptr_t)reads_some;
    ticker_now = TICKER_RUNS;
    fake.mss = draw(2) ? 1460 : 400;
    hold_watch_thread_end();
    self.turn = NULL;
    c = whole_connected(FD);
    if (draw(2)) /* as at a new endpoint */
        c->policy.bursty = c->policy.from_cache = false;
    next = DECIDES;
    unsigned pieces = 1 + draw(4), rare = 2u << (2 * draw(4));
    for (int exchanges = 0; exchanges < 200; exchanges++) {
        if (mode == MODE_COALESCE)
            c->policy.buffer_limit = 4000; /* some writes of a quiet connection in coalesce are longer */
        unsigned count = one_in(rare) ? 1 + draw(5) : pieces;
        for (unsigned i = 0; i < count; i++) {
            write_is_compared(one_in(rare) ? 1 + draw(8000) : 1 + draw(500));
            if (one_in(4 * rare)) {
                hold_end_turn(PUSH_WAIT);
                next = DECIDES;
            }
        }
        if (draw(2))
            hold_end_turn(PUSH_WAIT);
        reads();
        next_step--;
        next = undecided_after_input(&c->policy, c->wait_began);
    }
    hold_end_turn(PUSH_WAIT);
    shim_closing(FD);
}

/* The simulator of the benchmarks has policy alone, and names the same writes. */
Test(shim_steady, the_simulator_knows_the_writes_that_need_no_decision) {
    static const enum mode modes[] = {MODE_OFF, MODE_NODELAY, MODE_CORK, MODE_AUTO, MODE_COALESCE};
    static struct step step;
    next_step = &step;
    by_exports = true;
    calm = 1u << 24;
    for (unsigned i = 0; i < 500; i++)
        conversation(modes[i % 5]);
    EXPECT_INT("decided", compared[true] > 10000, true);
    EXPECT_INT("not decided", compared[false] > 10000, true);
}
