/* SPDX-License-Identifier: MIT
 *
 * Exchanges of header and body, then one of a header, a write of nothing by argv[5], and no body.
 */
#include "client.h"

static ssize_t put_nothing(int fd, const char *how)
{
    struct iovec nothing = {message, 0};
    struct msghdr none = {.msg_iov = &nothing, .msg_iovlen = 1};
    if (strcmp(how, "write") == 0) return write(fd, message, 0);
    if (strcmp(how, "send") == 0) return send(fd, message, 0, 0);
    if (strcmp(how, "writev") == 0) return writev(fd, &nothing, 1);
    if (strcmp(how, "sendmsg") == 0) return sendmsg(fd, &none, 0);
    return -1;
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    next_message(client.count);
    long begin = now_us();
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(put_nothing(fd, argv[5]) == 0);
    read_reply(fd);
    ADD_FACT("\"last_us\": %ld", now_us() - begin);
    close(fd);
    return report();
}
