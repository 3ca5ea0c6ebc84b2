/* SPDX-License-Identifier: MIT
 *
 * send, send, read.
 */
#include <sys/socket.h>
#define PUT(fd, data, length) (send(fd, data, length, 0) == (ssize_t)(length))
#include "two_puts.h"
