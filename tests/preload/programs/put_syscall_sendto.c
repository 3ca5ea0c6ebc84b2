/* SPDX-License-Identifier: MIT
 *
 * Written through syscall(SYS_sendto).
 */
#include <sys/syscall.h>
#include <unistd.h>
#define PUT(fd, data, length) (syscall(SYS_sendto, fd, data, length, 0, NULL, 0) == (long)(length))
#include "two_puts.h"
