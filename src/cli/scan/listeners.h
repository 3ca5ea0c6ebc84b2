/* SPDX-License-Identifier: MIT
 *
 * The ports with a listening socket.  They show which end of a connection is the service.  A port
 * stays in the list when its service ends, because the report still has its connections.
 */
#ifndef UNSTALL_SCAN_LISTENERS_H
#define UNSTALL_SCAN_LISTENERS_H

#include "diag.h"

struct scan_listeners {
    uint16_t *ports; /* sorted */
    size_t count;
};

/* Adds the ports that have a listening socket now.  0 or -errno. */
int scan_listeners_look(struct scan_listeners *l, struct scan_diag *d);

bool scan_is_listened_on(const uint16_t *ports, size_t count, uint16_t port);

/* A copy of the ports, for struct scan_result; the caller frees it.  NULL: no memory. */
uint16_t *scan_listeners_copy(const struct scan_listeners *l);

#endif
