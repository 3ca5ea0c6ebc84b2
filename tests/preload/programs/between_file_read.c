/* SPDX-License-Identifier: MIT
 *
 * Reads the body from a file after the header was written.
 */
#include "client.h"
#include <sys/mman.h>

static int file = -1;

static void exchange(int fd)
{
    char body[BODY];
    CHECK(pwrite(file, message + HEADER, BODY, 0) == BODY && lseek(file, 0, SEEK_SET) == 0);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(read(file, body, BODY) == BODY);
    CHECK(write(fd, body, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    file = memfd_create("body", MFD_CLOEXEC);
    CHECK(file >= 0);
    return client_main(argc, argv, exchange);
}
