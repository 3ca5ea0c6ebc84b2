/* SPDX-License-Identifier: MIT
 *
 * writev of two pieces, twice, then read.
 */
#include <sys/uio.h>
#include <stdbool.h>
static bool put_pieces(int fd, char *data, size_t length)
{
    struct iovec pieces[2] = {{data, 10}, {data + 10, length - 10}};
    return writev(fd, pieces, 2) == (ssize_t)length;
}
#define PUT put_pieces
#include "two_puts.h"
