/* SPDX-License-Identifier: MIT
 *
 * The ports that are listened on: they tell which side of a connection is the service.  A port
 * stays in the list when its service ends, because its connections are still told.
 */
#ifndef UNSTALL_SCAN_LISTENERS_H
#define UNSTALL_SCAN_LISTENERS_H

#include "diag.h"

struct scan_listeners {
    uint16_t *ports; /* sorted */
    size_t count;
};

/* Add those of now.  0 or -errno. */
int scan_listeners_look(struct scan_listeners *l, struct scan_diag *d);

bool scan_is_listened_on(const uint16_t *ports, size_t count, uint16_t port);

/* A copy, as a result has it; free() it.  NULL: no memory. */
uint16_t *scan_listeners_copy(const struct scan_listeners *l);

#endif
