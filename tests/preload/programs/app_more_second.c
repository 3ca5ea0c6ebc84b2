/* SPDX-License-Identifier: MIT
 *
 * A small write, then MSG_MORE and a plain write as the second unit of the
 * message: Nagle holds that unit back.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, 50) == 50);
    CHECK(send(fd, message + 50, HEADER - 50, MSG_MORE) == HEADER - 50);
    CHECK(send(fd, message + HEADER, BODY, 0) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
