/* SPDX-License-Identifier: MIT
 *
 * The plain pattern: write, write, read.
 */
#include <unistd.h>
#define PUT(fd, data, length) (write(fd, data, length) == (ssize_t)(length))
#include "two_puts.h"
