/* SPDX-License-Identifier: MIT
 *
 * Vectors and messages that are not there: argv[3] names where they are written (tcp, pipe, udp, unix).
 */
#include "client.h"

static void show(const char *what, ssize_t result)
{
    printf("%s %zd %s\n", what, result, strerrorname_np(errno));
}

static int descriptor(const char *what, client_t client)
{
    int ends[2];
    if (strcmp(what, "tcp") == 0) return connect_to(client);
    if (strcmp(what, "udp") == 0) return socket(AF_INET, SOCK_DGRAM, 0);
    CHECK((strcmp(what, "pipe") == 0 ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) == 0);
    return ends[1];
}

int main(int argc, char **argv)
{
    static void *volatile place = (void *)8;
    void *nowhere = place; /* the compiler shall not know */
    CHECK(argc == 4);
    int fd = descriptor(argv[3], (client_t){argv[1], atoi(argv[2]), 0, 0});
    show("writev", writev(fd, nowhere, 2));
    if (strcmp(argv[3], "pipe") != 0) {
        show("sendmsg", sendmsg(fd, nowhere, 0));
        show("sendmmsg", sendmmsg(fd, nowhere, 1, 0));
    }
    if (strcmp(argv[3], "tcp") == 0) CHECK(write(fd, message, BODY) == BODY);
    return report();
}
