/* SPDX-License-Identifier: MIT
 *
 * Written through syscall(SYS_write).
 */
#include <sys/syscall.h>
#include <unistd.h>
#define PUT(fd, data, length) (syscall(SYS_write, fd, data, length) == (long)(length))
#include "two_puts.h"
