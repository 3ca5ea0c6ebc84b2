/* SPDX-License-Identifier: MIT
 *
 * Segments by time, where a capture has them in another order: several interfaces or queues, files put
 * together.  As many as fit wait for an earlier one, so that memory stays constant.
 */
#ifndef UNSTALL_CLI_ORDER_H
#define UNSTALL_CLI_ORDER_H

#include "packet.h"

/* They take 7 MiB. */
enum { ORDER_ROOM = 65536 };

struct ordered {
    int64_t at_ns;
    uint64_t number; /* in the file */
    struct tcp_segment segment;
};

struct order {
    struct ordered *room;
    uint32_t *heap; /* places in `room`, the earliest first */
    uint32_t used;
    int64_t given_ns; /* the time of the newest one that was given */
    bool late;        /* one came more than ORDER_ROOM segments too late */
    void (*give)(void *context, const struct ordered *o);
    void *context;
};

bool order_make(struct order *o, void (*give)(void *context, const struct ordered *o), void *context);
void order_free(struct order *o);

void order_add(struct order *o, const struct ordered *next);

/* Gives all that wait. */
void order_end(struct order *o);

#endif
