/* SPDX-License-Identifier: MIT
 *
 * Exchanges, then the connection is sent over the Unix socket that is descriptor 0
 * (argv[6]: by sendmsg or sendmmsg), then, after a byte came back, further exchanges.
 */
#include "pass_on.h"

static void send_descriptor(int fd, bool many)
{
    char byte = 'x', control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec piece = {&byte, 1};
    struct mmsghdr message_of = {.msg_hdr = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control}};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message_of.msg_hdr);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    if (many) CHECK(sendmmsg(0, &message_of, 1, 0) == 1);
    else CHECK(sendmsg(0, &message_of.msg_hdr, 0) == 1);
    CHECK(read(0, &byte, 1) == 1);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    own_value(argc, argv, fd);
    for (int i = 0; i < 5; i++) {
        next_message(i);
        exchange(fd);
    }
    send_descriptor(fd, argc > 6 && strcmp(argv[6], "sendmmsg") == 0);
    for (int i = 5; i < 5 + client.count; i++) {
        next_message(i);
        long begin = now_us();
        exchange(fd);
        facts.us[facts.exchanges++] = now_us() - begin;
    }
    close(fd);
    return report();
}
