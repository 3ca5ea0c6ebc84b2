/* SPDX-License-Identifier: MIT
 *
 * Bytes in the coalesce buffer, without a write.
 */
#ifndef UNSTALL_UNIT_BUFFERED_H
#define UNSTALL_UNIT_BUFFERED_H

#include "coalesce_buffer.h"

/* False: the buffer has no room for them. */
static inline bool unit_buffer(struct conn *c, const char *bytes) {
    const struct iovec one = {(char *)(uintptr_t)bytes, strlen(bytes)};
    if (one.iov_len > buffer_room(c))
        return false;
    buffer_put(c, &one, 1);
    return true;
}

#endif
