/* SPDX-License-Identifier: MIT
 *
 * A server that reads requests of 300 bytes as they come and answers each with 200.
 */
#include "server.h"

static void SERVE(int listener)
{
    char request[HEADER + BODY];
    int fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    for (;;) {
        size_t got = 0;
        while (got < sizeof request) {
            ssize_t n = read(fd, request + got, sizeof request - got);
            CHECK(n >= 0);
            if (n == 0) {
                close(fd);
                return;
            }
            got += (size_t)n;
        }
        CHECK(write(fd, message, REPLY) == REPLY);
    }
}
