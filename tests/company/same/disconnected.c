/* SPDX-License-Identifier: MIT
 *
 * connect(AF_UNSPEC): a socket that is connected no more, and then perhaps to another peer.  Not compared:
 * bare, bytes that Nagle's algorithm has kept until then are dropped; cured, they have left.
 */
#include "same.h"

static const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

CASE(written_to) {
    signal(SIGPIPE, SIG_IGN);
    SAY(connect(fd, &nobody, sizeof(nobody)));
    SAY(write(fd, "late", 4));
    SAY(write(fd, "late", 4));
    SAY(send(fd, "late", 4, MSG_NOSIGNAL));
}

CASE(read_from) {
    char byte;
    SAY(connect(fd, &nobody, sizeof(nobody)));
    SAY(read(fd, &byte, 1));
    SAY(read(fd, &byte, 1));
}

/* Once a write to the new connection met the error that the old one had kept. */
CASE(connected_again_after_an_error) {
    struct sockaddr_in address;
    struct timespec moment = {.tv_nsec = 20000000};
    char bytes[100];
    int listener = listening(&address, 0);
    signal(SIGPIPE, SIG_IGN);
    raw1(SYS_close, peer);
    raw2(SYS_nanosleep, &moment, NULL);
    /* lost, or refused */
    long lost = read(fd, bytes, sizeof(bytes)) + write(fd, "first", 5);
    poll(NULL, 0, 10);
    lost += write(fd, "x", 1);
    (void)lost;
    SAY(connect(fd, &nobody, sizeof(nobody)));
    SAY(connect(fd, (struct sockaddr *)&address, sizeof(address)));
    peer_accepts(listener);
    SAY(write(fd, "on the new connection", 21));
    SAY(write(fd, "again", 5));
}

CASE(connected_again) {
    struct sockaddr_in address;
    int listener = listening(&address, 0);
    SAY(connect(fd, &nobody, sizeof(nobody)));
    peer_tells();
    SAY(connect(fd, (struct sockaddr *)&address, sizeof(address)));
    peer_accepts(listener);
    for (int i = 0; i < 3; i++)
        exchange(fd);
    SAY(write(fd, "to the ", 7));
    SAY(write(fd, "second", 6));
}

CASE(refused) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    signal(SIGPIPE, SIG_IGN);
    SAY(connect(fd, &nobody, sizeof(nobody)));
    SAY(connect(fd, (struct sockaddr *)&address, sizeof(address))); /* port 0 */
    SAY(write(fd, "late", 4));
    SAY(write(fd, "late", 4));
}
