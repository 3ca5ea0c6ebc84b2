/* SPDX-License-Identifier: MIT
 *
 * Exchanges by write() first, and then, in the middle of a message, a FILE takes a dup.
 */
#include "client.h"

static FILE *out;

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    if (out == NULL) {
        CHECK(write(fd, message + HEADER, BODY) == BODY);
    } else {
        CHECK(fwrite(message + HEADER, 1, BODY, out) == BODY && fflush(out) == 0);
    }
    read_reply(fd);
}

int main(int argc, char **argv)
{
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    for (int i = 0; i < 3; i++) {
        next_message(i);
        exchange(fd);
    }
    next_message(3);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK((out = fdopen(dup(fd), "w")) != NULL);
    CHECK(fwrite(message + HEADER, 1, BODY, out) == BODY && fflush(out) == 0);
    read_reply(fd);
    for (int i = 4; i < client.count; i++) {
        next_message(i);
        long begin = now_us();
        mark(i);
        exchange(fd);
        facts.us[facts.exchanges++] = now_us() - begin;
    }
    fclose(out);
    close(fd);
    mark(END);
    return report();
}
