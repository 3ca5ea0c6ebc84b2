/* SPDX-License-Identifier: MIT
 *
 * The name __send, which old programs and libraries import.
 */
#include <sys/socket.h>
extern ssize_t __send(int fd, const void *data, size_t length, int flags);
#define PUT(fd, data, length) (__send(fd, data, length, 0) == (ssize_t)(length))
#include "two_puts.h"
