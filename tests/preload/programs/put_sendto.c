/* SPDX-License-Identifier: MIT
 *
 * sendto without an address, twice, then read.
 */
#include <sys/socket.h>
#define PUT(fd, data, length) (sendto(fd, data, length, 0, NULL, 0) == (ssize_t)(length))
#include "two_puts.h"
