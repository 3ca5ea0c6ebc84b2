/* SPDX-License-Identifier: MIT
 *
 * Exchanges, then a small write, much with the application's own MSG_MORE, and the answer to the
 * small write, before the rest goes.
 */
#include "client.h"

enum { SMALL = 8, MUCH = 13439 };

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    static char data[SMALL + MUCH + 1];
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    for (int i = 0; i < client.count; i++) {
        next_message(i);
        exchange(fd);
    }
    fill(data, sizeof data, (size_t)client.count * sizeof message);
    long begin = now_us();
    CHECK(write(fd, data, SMALL) == SMALL);
    CHECK(send(fd, data + SMALL, MUCH, MSG_MORE) == MUCH);
    read_reply(fd);
    ADD_FACT("\"last_us\": %ld", now_us() - begin);
    CHECK(write(fd, data + SMALL + MUCH, 1) == 1);
    close(fd);
    return report();
}
