/* SPDX-License-Identifier: MIT
 *
 * Exchanges, then a small write, more with the application's own wish to hold, by argv[5] (send,
 * sendmmsg, splice) and of argv[6] bytes, and the answer to the small write, before the rest goes.
 */
#include "client.h"

enum { SMALL = 8, MOST_MORE = 20000 };

static ssize_t put_more(int fd, const char *how, char *data, size_t length)
{
    struct iovec piece = {data, length};
    struct mmsghdr one = {.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}};
    int ends[2];
    if (strcmp(how, "send") == 0) return send(fd, data, length, MSG_MORE);
    if (strcmp(how, "sendmmsg") == 0) return sendmmsg(fd, &one, 1, MSG_MORE) == 1 ? (ssize_t)one.msg_len : -1;
    CHECK(pipe(ends) == 0);
    CHECK(raw_call(SYS_write, ends[1], (long)data, (long)length, 0, 0) == (long)length);
    return splice(ends[0], NULL, fd, NULL, length, SPLICE_F_MORE);
}

int main(int argc, char **argv)
{
    static char data[SMALL + MOST_MORE + 1];
    CHECK(argc == 7);
    client_t client = client_arguments(argc, argv);
    size_t much = (size_t)atoi(argv[6]);
    CHECK(much <= MOST_MORE);
    int fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    fill(data, sizeof data, (size_t)client.count * sizeof message);
    long begin = now_us();
    CHECK(write(fd, data, SMALL) == SMALL);
    CHECK(put_more(fd, argv[5], data + SMALL, much) == (ssize_t)much);
    read_reply(fd);
    ADD_FACT("\"last_us\": %ld", now_us() - begin);
    CHECK(write(fd, data + SMALL + much, 1) == 1);
    close(fd);
    return report();
}
