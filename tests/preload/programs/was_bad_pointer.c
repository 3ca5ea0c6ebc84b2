/* SPDX-License-Identifier: MIT
 *
 * Vectors and messages that are not there: argv[3] names where they are written (tcp, pipe).
 */
#include "client.h"

static void show(const char *what, ssize_t result)
{
    printf("%s %zd %s\n", what, result, strerrorname_np(errno));
}

int main(int argc, char **argv)
{
    int ends[2], fd;
    CHECK(argc == 4 && pipe(ends) == 0);
    client_t client = {argv[1], atoi(argv[2]), 0, 0};
    int connection = connect_to(client);
    static void *volatile place = (void *)8;
    void *nowhere = place; /* the compiler shall not know */
    fd = strcmp(argv[3], "tcp") == 0 ? connection : ends[1];
    show("writev", writev(fd, nowhere, 2));
    show("write", write(fd, nowhere, 20));
    if (fd == connection) show("sendmsg", sendmsg(fd, nowhere, 0));
    CHECK(write(fd, message, BODY) == BODY);
    return report();
}
