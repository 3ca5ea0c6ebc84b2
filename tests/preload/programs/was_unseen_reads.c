/* SPDX-License-Identifier: MIT
 *
 * Header and body by writes that are seen, the answer by a read that is not.
 */
#include "client.h"

static void exchange(int fd)
{
    char reply[REPLY];
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    for (long got = 0, n; got < REPLY; got += n) {
        n = raw_call(SYS_read, fd, (long)reply, REPLY - got, 0, 0);
        CHECK(n > 0);
    }
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
