/* SPDX-License-Identifier: MIT
 *
 * Writes of random sizes by random calls, with random waits and reads between, for
 * the seed argv[5]: the stream must be whole, with any byte held, buffered or pushed.
 * The peer answers one byte for each 1000 bytes; reads wait for the bytes due.
 */
#include "client.h"
#include <sys/mman.h>
#include <sys/sendfile.h>

enum { TOTAL = 400000, UNIT = 1000 };

static unsigned state;

static unsigned draw(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 8) % below;
}

static ssize_t put(int fd, int file, char *data, size_t length, size_t at)
{
    struct iovec pieces[2] = {{data, length / 3}, {data + length / 3, length - length / 3}};
    struct msghdr header = {.msg_iov = pieces, .msg_iovlen = 2};
    struct mmsghdr one = {.msg_hdr = header};
    off_t begin = (off_t)at;
    switch (draw(10)) {
    case 0: return send(fd, data, length, 0);
    case 1: return writev(fd, pieces, 2);
    case 2: return sendmsg(fd, &header, 0);
    case 3: return sendfile(fd, file, &begin, length);
    case 4: return send(fd, data, length, MSG_MORE);
    case 5: return sendmmsg(fd, &one, 1, 0) == 1 ? (ssize_t)one.msg_len : -1;
    case 6: return syscall(SYS_write, fd, data, length);
    case 7: return pwritev2(fd, pieces, 2, -1, 0);
    default: return write(fd, data, length);
    }
}

int main(int argc, char **argv)
{
    static char data[TOTAL];
    client_t client = client_arguments(argc, argv);
    state = argc > 5 ? (unsigned)atoi(argv[5]) : 1;
    int first = connect_to(client), second = dup(first), file = memfd_create("data", 0);
    static const int zero, one = 1;
    size_t at = 0, answers = 0;
    fill(data, sizeof data, 0);
    CHECK(write(file, data, sizeof data) == TOTAL);
    while (at < TOTAL) {
        size_t length = draw(8) ? 3 + draw(300) : 3 + draw(30000);
        if (length > TOTAL - at) length = TOTAL - at;
        int fd = draw(4) ? first : second;
        ssize_t n = put(fd, file, data + at, length, at);
        CHECK(n > 0);
        at += (size_t)n;
        switch (draw(12)) {
        case 0: poll(NULL, 0, 0); break;
        case 1: usleep(100); break;
        case 2: CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, draw(2) ? &one : &zero, 4) == 0); break;
        case 3: CHECK(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &one, 4) == 0);
                CHECK(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &zero, 4) == 0); break;
        case 4: case 5: case 6:
            /* Bytes held by the application's own MSG_MORE leave at its next plain write. */
            CHECK(send(fd, data + at, at < TOTAL ? 1 : 0, 0) >= 0);
            if (at < TOTAL) at++;
            while (answers < at / UNIT) {
                char reply[64];
                size_t due = at / UNIT - answers;
                ssize_t got = recv(fd, reply, due < sizeof reply ? due : sizeof reply, 0);
                CHECK(got > 0);
                answers += (size_t)got;
            }
            break;
        default: break;
        }
    }
    shutdown(first, SHUT_WR);
    while (answers < TOTAL / UNIT) {
        char reply[64];
        ssize_t got = read(second, reply, sizeof reply);
        CHECK(got > 0);
        answers += (size_t)got;
    }
    close(first);
    close(second);
    return report();
}
