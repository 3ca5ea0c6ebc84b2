/* SPDX-License-Identifier: MIT
 *
 * pwritev64v2 with offset -1: the name that large file offsets give pwritev2.
 */
#define _FILE_OFFSET_BITS 64
#include <stdbool.h>
#include <sys/uio.h>
static bool put_pieces(int fd, char *data, size_t length)
{
    struct iovec pieces[2] = {{data, 10}, {data + 10, length - 10}};
    return pwritev64v2(fd, pieces, 2, -1, 0) == (ssize_t)length;
}
#define PUT put_pieces
#include "two_puts.h"
