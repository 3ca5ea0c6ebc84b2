/* SPDX-License-Identifier: MIT
 *
 * Shared by torture-kill and the writer that it ends: a page of memory on which the writer notes its
 * progress, and the descriptor of it that it inherits.
 */
#ifndef TORTURE_KILL_H
#define TORTURE_KILL_H

#include "shared.h"

enum {
    FD_PAGE = 200,   /* struct page */
    WRITER_LINK = 7, /* the number of its stream */
    ANSWERED = 3,    /* the first requests are answered, no later ones: no input is left at the end */
};

struct page {
    uint64_t seed;
    uint64_t attempted;  /* the stream's length if the call under way succeeds */
    uint64_t returned;   /* ... of the calls that returned */
    uint64_t turn_began; /* ... when the open turn began: the last wait was there */
    uint32_t port;
    uint32_t stream;     /* the number of its connection's descriptor */
    uint32_t ready;
    uint32_t stop;       /* the writer's main thread shall end the process */
    uint32_t pending;    /* input lies unread: read none of it, write only little at once */
    uint32_t threads;    /* write in a second thread, end in the first */
    uint32_t execs;      /* ... by an exec */
};

/* The bytes with which the peer answers the first `received` ones. */
static inline uint64_t answer_total(uint64_t received) {
    struct habits habits = habits_of(WRITER_LINK);
    uint64_t most = (uint64_t)ANSWERED * habits.every;
    return reply_total(&habits, received < most ? received : most);
}

#endif
