/* SPDX-License-Identifier: MIT
 *
 * The header by write, the body by sendfile, then read.
 */
#include "client.h"
#include <sys/mman.h>
#include <sys/sendfile.h>

static int file = -1;

static void exchange(int fd)
{
    off_t begin = 0;
    CHECK(pwrite(file, message + HEADER, BODY, 0) == BODY);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(sendfile(fd, file, &begin, BODY) == BODY);
    CHECK(begin == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    file = memfd_create("body", MFD_CLOEXEC);
    CHECK(file >= 0);
    return client_main(argc, argv, exchange);
}
