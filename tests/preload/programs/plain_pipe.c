/* SPDX-License-Identifier: MIT
 *
 * Without the pattern: two writes and a read, over a pipe.
 */
#include "client.h"

int main(void)
{
    mark(BEGIN);
    int ends[2];
    CHECK(pipe(ends) == 0);
    for (int i = 0; i < 8; i++) {
        char data[HEADER + BODY];
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        CHECK(write(ends[1], message, HEADER) == HEADER);
        CHECK(write(ends[1], message + HEADER, BODY) == BODY);
        CHECK(poll(&ready, 1, -1) == 1);
        CHECK(read(ends[0], data, sizeof data) == (ssize_t)sizeof data);
    }
    close(ends[0]);
    close(ends[1]);
    mark(END);
    return 0;
}
