/* SPDX-License-Identifier: MIT
 *
 * An application that holds its header by MSG_MORE and sends its body plainly.
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(send(fd, message, HEADER, MSG_MORE) == HEADER);
    CHECK(send(fd, message + HEADER, BODY, 0) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange);
}
