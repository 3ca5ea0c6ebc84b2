/* SPDX-License-Identifier: MIT
 *
 * How often sockets are sampled, so that the whole scan stays below 2 % of one core.  Pure:
 * the caller measures the processor time of its calls and asks when the next ones are due.
 *
 * A dump of all sockets costs 0.5 ms with few of them, some 10 ms with 20 000, and 126 ms with 90 000.  A
 * look at the watched sockets costs about 45 us, and 3 us more for each of them.
 */
#ifndef UNSTALL_SCAN_BUDGET_H
#define UNSTALL_SCAN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct scan_budget {
    uint64_t began_ns;
    uint64_t spent_ns;               /* processor time of looks */
    double dump_ns;                  /* processor time of one dump, a moving average */
    uint64_t turn_ns, turn_spent_ns; /* when the present turn began; time spent watching in it */
    unsigned watched;                /* the most sockets to watch at once */
};

struct scan_budget scan_budget_begin(uint64_t now_ns);

/* Adds the processor time of a dump, or of one look at the watched sockets. */
void scan_budget_dump(struct scan_budget *b, uint64_t took_ns);
void scan_budget_watch(struct scan_budget *b, uint64_t took_ns);

/* The time from one dump to the next. */
uint64_t scan_budget_dump_every(const struct scan_budget *b);

/* The time from one look at the watched sockets to the next: a stall of 40 ms is in three samples. */
enum { WATCH_EVERY_NS = 12 * 1000 * 1000 };

/* Begins a turn.  Returns how many of the `wanted` sockets may be watched in it. */
unsigned scan_budget_turn(struct scan_budget *b, uint64_t now_ns, unsigned wanted);

/* True if looks have stayed within their share. */
bool scan_budget_allows(const struct scan_budget *b, uint64_t now_ns);

#endif
