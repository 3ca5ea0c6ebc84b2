/* SPDX-License-Identifier: MIT
 *
 * A connection is sent over a Unix socket pair and received again, while its old number is written to.
 *
 * argv[5]  early | late     received before the writes, or after them
 * argv[6]  open | closed    the old number when the new one is first asked
 *
 * Or both `child`: another process receives it, and asks once the old number is closed.
 */
#include "client.h"

static int in_a_child(client_t client, int ends[2])
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char byte;
        close(ends[0]);
        int fd = receive_descriptor(ends[1], 0);
        CHECK(read(ends[1], &byte, 1) == 1);
        _exit(option_of(fd, TCP_NODELAY));
    }
    int fd = connect_to(client);
    exchange_all(fd, 0, 2);
    send_descriptor(ends[0], fd, false);
    exchange_all(fd, 2, 2);
    close(fd);
    CHECK(write(ends[0], "x", 1) == 1);
    return status_of(child);
}

static int in_this_process(client_t client, int ends[2], bool early, bool closed)
{
    int fd = connect_to(client), again = -1;
    exchange_all(fd, 0, 2);
    send_descriptor(ends[0], fd, false);
    if (early) again = receive_descriptor(ends[1], 0);
    exchange_all(fd, 2, 2);
    if (!early) again = receive_descriptor(ends[1], 0);
    if (closed) close(fd);
    int value = option_of(again, TCP_NODELAY);
    exchange_all(again, 4, 2);
    return value;
}

int main(int argc, char **argv)
{
    int ends[2];
    CHECK(argc == 7 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    client_t client = client_arguments(argc, argv);
    int value = strcmp(argv[5], "child") == 0
                    ? in_a_child(client, ends)
                    : in_this_process(client, ends, strcmp(argv[5], "early") == 0,
                                      strcmp(argv[6], "closed") == 0);
    ADD_FACT("\"nodelay\": %d", value);
    return report();
}
