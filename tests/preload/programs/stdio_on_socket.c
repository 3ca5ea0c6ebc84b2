/* SPDX-License-Identifier: MIT
 *
 * The writing FILE owns the socket's own descriptor, reads pass by read().
 */
#include "client.h"

static FILE *out;

static void exchange(int fd)
{
    CHECK(fwrite(message, 1, HEADER, out) == HEADER && fflush(out) == 0);
    CHECK(fwrite(message + HEADER, 1, BODY, out) == BODY && fflush(out) == 0);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    CHECK((out = fdopen(fd, "w")) != NULL);
    run_exchanges(fd, client.count, exchange);
    fclose(out);
    mark(END);
    return report();
}
