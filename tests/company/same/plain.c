/* SPDX-License-Identifier: MIT
 *
 * Ordinary calls, as every program makes them.
 */
#include "same.h"

CASE(nothing_at_all) {
}

CASE(writes_and_an_answer) {
    char answer[20];
    SAY(write(fd, "header ", 7));
    SAY(write(fd, "body ", 5));
    raw3(SYS_write, peer, "an answer", 9);
    SAY(read(fd, answer, sizeof(answer)));
}

static int pipes;

static void count_pipe(int number UNUSED) {
    pipes++;
}

CASE(a_write_after_the_end) {
    signal(SIGPIPE, count_pipe);
    SAY(shutdown(fd, SHUT_WR));
    SAY(write(fd, "late", 4));
    say("%d signals", pipes);
    SAY(send(fd, "late", 4, MSG_NOSIGNAL));
    SAY(write(fd, "late", 4));
    say("%d signals", pipes);
    SAY(shutdown(fd, SHUT_WR));
    SAY(close(fd));
    SAY(close(fd));
    SAY(write(fd, "later", 5));
}

/* In cork and coalesce these succeeded while bytes were held. */
CASE(waits_for_room_with_an_invalid_timeout) {
    static const struct timespec bad[] = {{.tv_nsec = 1000000000}, {.tv_nsec = -1}, {.tv_sec = -1}};
    for (int i = 0; i < 3; i++) {
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        fd_set out;
        FD_ZERO(&out);
        FD_SET(fd, &out);
        SAY(write(fd, "a", 1));
        SAY(write(fd, "b", 1));
        SAY(ppoll(&room, 1, &bad[i], NULL));
        SAY(write(fd, "c", 1));
        SAY(pselect(fd + 1, NULL, &out, NULL, &bad[i], NULL));
        SAY(write(fd, "d", 1));
        SAY(select(fd + 1, NULL, &out, NULL, &(struct timeval){.tv_usec = i ? -1 : 1000001}));
    }
}
