/* SPDX-License-Identifier: MIT
 *
 * UNSTALL_VERBOSE: what we do, as it happens, for the engineer who watches.
 * Level 1: that we are here, and the first late push of each connection.  Level
 * 2: every late push.
 * Nothing is said while a connection's lock is held: a full pipe may block.
 */
#ifndef UNSTALL_VERBOSE_H
#define UNSTALL_VERBOSE_H

#include "config.h"

static inline bool verbose(unsigned level) {
    return UNLIKELY(config()->verbose >= level);
}

void verbose_start(void);
/* TCP_NODELAY was set before a write of `bytes`; `first` on this connection. */
void verbose_late_push(int fd, size_t bytes, bool first);

#endif
