/* SPDX-License-Identifier: MIT
 *
 * The name __write, which old programs and libraries import.
 */
#include <unistd.h>
extern ssize_t __write(int fd, const void *data, size_t length);
#define PUT(fd, data, length) (__write(fd, data, length) == (ssize_t)(length))
#include "two_puts.h"
