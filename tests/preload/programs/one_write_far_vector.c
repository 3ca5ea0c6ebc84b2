/* SPDX-License-Identifier: MIT
 *
 * Without the pattern: one writev a turn, with its vector in a mapping of its own, then read.
 */
#include <sys/mman.h>
#include <sys/uio.h>
#include "client.h"

static void exchange(int fd)
{
    static struct iovec *far;
    if (!far) far = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *far = (struct iovec){message, sizeof message};
    CHECK(writev(fd, far, 1) == (ssize_t)sizeof message);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
