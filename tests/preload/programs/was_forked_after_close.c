/* SPDX-License-Identifier: MIT
 *
 * Non-blocking writes fill the send buffer, as the peer does not read yet; the connection is closed, and
 * a child is forked which lives on for a while, as its parent does.
 */
#include "client.h"

enum { PIECE = 900, PIECES = 64 };

int main(int argc, char **argv)
{
    static const struct timespec a_while = {.tv_sec = 2};
    static char piece[PIECE];
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), small = 4608;
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    memset(piece, 'd', sizeof piece);
    CHECK(write(fd, piece, PIECE) == PIECE);
    read_reply(fd);
    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    for (int i = 0; i < PIECES && write(fd, piece, PIECE) > 0; i++) {}
    CHECK(close(fd) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        raw_call(SYS_nanosleep, (long)&a_while, 0, 0, 0, 0);
        raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
    }
    raw_call(SYS_wait4, child, 0, 0, 0, 0);
    return report();
}
