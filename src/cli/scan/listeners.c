/* SPDX-License-Identifier: MIT */
#include "listeners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_port(const void *a, const void *b) {
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

bool scan_is_listened_on(const uint16_t *ports, size_t count, uint16_t port) {
    return count && bsearch(&port, ports, count, sizeof(*ports), by_port);
}

static void take(const struct scan_listed *found, void *arg) {
    struct scan_listeners *l = arg;
    uint16_t port = found->key.local.port;
    if (scan_is_listened_on(l->ports, l->count, port))
        return;
    uint16_t *more = reallocarray(l->ports, l->count + 1, sizeof(*more));
    if (!more)
        return;
    l->ports = more;
    l->ports[l->count++] = port;
    qsort(l->ports, l->count, sizeof(*l->ports), by_port);
}

int scan_listeners_look(struct scan_listeners *l, struct scan_diag *d) {
    int count = scan_diag_dump(d, SCAN_LISTENING, take, l);
    return count < 0 && count != -ENOBUFS ? count : 0;
}

uint16_t *scan_listeners_copy(const struct scan_listeners *l) {
    uint16_t *copy = calloc(l->count + 1, sizeof(*copy));
    if (copy && l->count)
        memcpy(copy, l->ports, l->count * sizeof(*copy));
    return copy;
}
