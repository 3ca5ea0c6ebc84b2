/* SPDX-License-Identifier: MIT
 *
 * Exchanges by write() first, and then, in the middle of a message, a FILE takes a dup.
 */
#include "client.h"

static FILE *out;

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    if (out == NULL) CHECK((out = fdopen(dup(fd), "w")) != NULL);
    CHECK(fwrite(message + HEADER, 1, BODY, out) == BODY && fflush(out) == 0);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    exchange_all(fd, 0, 3);
    run_exchanges_from(3, fd, client.count - 3, exchange);
    fclose(out);
    close(fd);
    mark(END);
    return report();
}
