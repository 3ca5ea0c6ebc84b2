/* SPDX-License-Identifier: MIT
 *
 * A FILE for each direction, each on a dup of the connection.
 */
#include "client.h"

static FILE *in, *out;

static void exchange(int fd)
{
    char line[REPLY + 2];
    (void)fd;
    CHECK(fprintf(out, "%.*s", HEADER, message) == HEADER && fflush(out) == 0);
    CHECK(fprintf(out, "%.*s", BODY, message + HEADER) == BODY && fflush(out) == 0);
    CHECK(fgets(line, sizeof line, in) && strlen(line) == REPLY);
}

int main(int argc, char **argv)
{
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    CHECK((in = fdopen(dup(fd), "r")) != NULL);
    CHECK((out = fdopen(dup(fd), "w")) != NULL);
    run_exchanges(fd, client.count, exchange);
    fclose(in);
    fclose(out);
    close(fd);
    mark(END);
    return report();
}
