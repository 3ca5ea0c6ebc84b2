/* SPDX-License-Identifier: MIT
 *
 * How often sockets are sampled, so that the whole scan stays below 2 % of one core.  Pure:
 * the caller measures what its calls took and asks when the next ones are due.
 *
 * A dump of all sockets costs 0.5 ms with few of them and some 10 ms with 20 000.  To wake up
 * for a look at single sockets costs about 45 us, and 3 us for each of them.
 */
#ifndef UNSTALL_SCAN_BUDGET_H
#define UNSTALL_SCAN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct scan_budget {
    uint64_t began_ns;
    uint64_t spent_ns;               /* processor time in all */
    double dump_ns;                  /* one dump, by the last ones */
    uint64_t turn_ns, turn_spent_ns; /* when the present turn began; spent on watching in it */
    unsigned watched;                /* sockets at once */
};

struct scan_budget scan_budget_begin(uint64_t now_ns);

/* Processor time that a dump, or one look at the watched sockets took. */
void scan_budget_dump(struct scan_budget *b, uint64_t took_ns);
void scan_budget_watch(struct scan_budget *b, uint64_t took_ns);

/* From one dump to the next. */
uint64_t scan_budget_dump_every(const struct scan_budget *b);

/* From one look at the watched sockets to the next: 12 ms, so that a stall of 40 ms is seen
 * three times. */
uint64_t scan_budget_watch_every(void);

/* A turn begins: how many sockets may be watched in it?  `wanted`: as many would be. */
unsigned scan_budget_turn(struct scan_budget *b, uint64_t now_ns, unsigned wanted);

/* May `took_ns` more be spent now without leaving the share? */
bool scan_budget_allows(const struct scan_budget *b, uint64_t now_ns, uint64_t took_ns);

#endif
