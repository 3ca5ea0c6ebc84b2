/* SPDX-License-Identifier: MIT
 *
 * UNSTALL_VERBOSE: log lines about the library's actions.  Level 1: a line at the start,
 * and one for the first late push of each connection.  Level 2: one for every late push.
 * No line is written under a connection's lock: a full pipe may block.
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
