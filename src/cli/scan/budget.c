/* SPDX-License-Identifier: MIT */
#include "budget.h"

/* Shares of a core for dumps and for looks, and the most for each: of dumps that would be made too seldom, of
 * looks on a busy machine.  Each has its own, so that dumps of many sockets leave time for looks.  The
 * rest of the 2 % is for the start and for the search of /proc for the processes. */
static const double DUMPS = 0.005, WATCHES = 0.006, MOST = 0.01;

static const uint64_t MS = 1000000, DUMP_SOONEST = 50 * MS, DUMP_LATEST = 5000 * MS,
                      ADVANCE = 20 * MS; /* may be spent at once at the start */

struct scan_budget scan_budget_begin(uint64_t now_ns) {
    return (struct scan_budget){.began_ns = now_ns, .turn_ns = now_ns, .watched = 16};
}

enum { WATCHED_LEAST = 4 };

static double smooth(double old, double now) {
    return old > 0 ? old + (now - old) / 8 : now;
}

void scan_budget_dump(struct scan_budget *b, uint64_t took_ns) {
    b->dump_ns = smooth(b->dump_ns, (double)took_ns);
}

void scan_budget_watch(struct scan_budget *b, uint64_t took_ns) {
    b->spent_ns += took_ns;
    b->turn_spent_ns += took_ns;
}

uint64_t scan_budget_dump_every(const struct scan_budget *b) {
    double every = b->dump_ns / DUMPS;
    if (every < (double)DUMP_SOONEST)
        return DUMP_SOONEST;
    if (every > (double)DUMP_LATEST)
        every = b->dump_ns / MOST > (double)DUMP_LATEST ? b->dump_ns / MOST : (double)DUMP_LATEST;
    return (uint64_t)every;
}

/* Watches fewer sockets if the last turn took more than its share, more if it took clearly less. */
unsigned scan_budget_turn(struct scan_budget *b, uint64_t now_ns, unsigned wanted) {
    enum { CREDIT_S = 60 };
    double saved = MOST * (double)(now_ns - b->began_ns) - (double)b->spent_ns;
    if (saved > MOST * CREDIT_S * 1e9) /* time saved in a quiet night must not be spent at once */
        b->spent_ns += (uint64_t)(saved - MOST * CREDIT_S * 1e9);
    double may = WATCHES * (double)(now_ns - b->turn_ns), spent = (double)b->turn_spent_ns;
    if (spent > may)
        b->watched -= (b->watched + 3) / 4;
    else if (spent < 0.7 * may && b->watched < wanted)
        b->watched += b->watched / 2 + 1;
    if (b->watched < WATCHED_LEAST)
        b->watched = WATCHED_LEAST;
    b->turn_ns = now_ns;
    b->turn_spent_ns = 0;
    return b->watched < wanted ? b->watched : wanted;
}

bool scan_budget_allows(const struct scan_budget *b, uint64_t now_ns) {
    return (double)b->spent_ns <= MOST * (double)(now_ns - b->began_ns) + (double)ADVANCE;
}
