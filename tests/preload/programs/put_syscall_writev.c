/* SPDX-License-Identifier: MIT
 *
 * Written through syscall(SYS_writev).
 */
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static bool put_pieces(int fd, char *data, size_t length)
{
    struct iovec pieces[2] = {{data, 10}, {data + 10, length - 10}};
    return syscall(SYS_writev, fd, pieces, 2) == (long)length;
}
#define PUT put_pieces
#include "two_puts.h"
