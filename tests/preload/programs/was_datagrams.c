/* SPDX-License-Identifier: MIT
 *
 * Exchanges, and after each a datagram on another socket, with ancillary data that is no descriptor.
 */
#include "client.h"

static int datagrams;
static struct sockaddr_in address = {.sin_family = AF_INET};

static void exchange(int fd)
{
    int service = 0;
    char control[CMSG_SPACE(sizeof service)] = {0};
    struct iovec piece = {message, 10};
    struct msghdr datagram = {.msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &piece,
                              .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&datagram);
    header->cmsg_level = IPPROTO_IP;
    header->cmsg_type = IP_TOS;
    header->cmsg_len = CMSG_LEN(sizeof service);
    memcpy(CMSG_DATA(header), &service, sizeof service);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    CHECK(sendmsg(datagrams, &datagram, 0) == 10);
}

int main(int argc, char **argv)
{
    socklen_t length = sizeof address;
    int other = socket(AF_INET, SOCK_DGRAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(other, (struct sockaddr *)&address, length) == 0);
    CHECK(getsockname(other, (struct sockaddr *)&address, &length) == 0);
    datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    return client_main(argc, argv, exchange);
}
