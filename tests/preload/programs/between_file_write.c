/* SPDX-License-Identifier: MIT
 *
 * Writes a line to a file between header and body: a log.
 */
#include "client.h"
#include <sys/mman.h>

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    static int file = -1;
    if (file < 0) CHECK((file = memfd_create("log", MFD_CLOEXEC)) >= 0);
    CHECK(write(file, "header sent\n", 12) == 12);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
