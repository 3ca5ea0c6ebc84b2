/* SPDX-License-Identifier: MIT
 *
 * Without the pattern: two writes and a read, over Unix stream sockets.
 */
#include "client.h"

int main(void)
{
    mark(BEGIN);
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    for (int i = 0; i < 8; i++) {
        char data[HEADER + BODY];
        CHECK(write(ends[0], message, HEADER) == HEADER);
        CHECK(send(ends[0], message + HEADER, BODY, MSG_NOSIGNAL) == BODY);
        CHECK(recv(ends[1], data, sizeof data, MSG_WAITALL) == (ssize_t)sizeof data);
    }
    close(ends[0]);
    close(ends[1]);
    mark(END);
    return 0;
}
