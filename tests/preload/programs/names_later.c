/* SPDX-License-Identifier: MIT
 *
 * Exchanges by one name that writes and one that reads, until the library knows the connection well.  Then
 * each further name is called for the first time in this process.
 *
 * ADDRESS PORT COUNT 0 PAIR, the number of the pair: 0 write and read, 1 send and recv, and so on.
 */
#include "client.h"

static char reply[REPLY];

static bool put(int fd, int name)
{
    struct iovec whole = {message, sizeof message};
    struct msghdr told = {.msg_iov = &whole, .msg_iovlen = 1};
    switch (name) {
    case 0: return write(fd, message, sizeof message) == sizeof message;
    case 1: return send(fd, message, sizeof message, 0) == sizeof message;
    case 2: return writev(fd, &whole, 1) == sizeof message;
    case 3: return sendto(fd, message, sizeof message, 0, NULL, 0) == sizeof message;
    default: return sendmsg(fd, &told, 0) == sizeof message;
    }
}

static ssize_t take(int fd, int name)
{
    struct iovec whole = {reply, sizeof reply};
    struct msghdr told = {.msg_iov = &whole, .msg_iovlen = 1};
    switch (name) {
    case 0: return read(fd, reply, sizeof reply);
    case 1: return recv(fd, reply, sizeof reply, MSG_WAITALL);
    case 2: return readv(fd, &whole, 1);
    case 3: return recvfrom(fd, reply, sizeof reply, MSG_WAITALL, NULL, NULL);
    default: return recvmsg(fd, &told, MSG_WAITALL);
    }
}

enum { NAMES = 5 };

static void exchange(int fd, int puts, int takes)
{
    CHECK(put(fd, puts) && take(fd, takes) == REPLY);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), pair = argc > 5 ? atoi(argv[5]) : 0;
    for (int i = 0; i < client.count; i++) exchange(fd, pair, pair);
    for (int name = 0; name < NAMES; name++) exchange(fd, pair, name);
    for (int name = 0; name < NAMES; name++) exchange(fd, name, pair);
    return report();
}
