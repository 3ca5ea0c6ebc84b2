/* SPDX-License-Identifier: MIT
 *
 * A netlink socket of NETLINK_XFRM, made out of sight: the number of its protocol is 6, that of TCP.
 * Two requests by two writes and their answers, several times.  Status 77: this kernel has no such socket.
 */
#include "client.h"
#include <linux/netlink.h>

enum { GET_SPDINFO = 0x25, BAD_TYPE = 0x7f, ROUNDS = 6 };

static const struct sockaddr_nl kernel_end = {.nl_family = AF_NETLINK};

static void request(int fd, uint16_t type, uint32_t number) {
    struct {
        struct nlmsghdr header;
        uint32_t flags;
    } wanted = {{sizeof wanted, type, NLM_F_REQUEST | NLM_F_ACK, number, 0}, 0};
    CHECK(write(fd, &wanted, sizeof wanted) == sizeof wanted);
}

/* Reads up to the acknowledgement of this request; gives its error. */
static int answer(int fd, uint32_t number) {
    char buffer[4096] __attribute__((aligned(8)));
    for (;;) {
        ssize_t got = read(fd, buffer, sizeof buffer);
        struct nlmsghdr *each = (struct nlmsghdr *)(void *)buffer;
        CHECK(got > 0);
        for (; NLMSG_OK(each, (size_t)got); each = NLMSG_NEXT(each, got))
            if (each->nlmsg_type == NLMSG_ERROR && each->nlmsg_seq == number)
                return ((struct nlmsgerr *)NLMSG_DATA(each))->error;
    }
}

/* An ordinary user may not ask, and a kernel without xfrm_compat answers no 32-bit program: two answers all
 * the same. */
static bool known(int error) {
    return error == 0 || error == -EPERM || error == -EOPNOTSUPP;
}

int main(void) {
    int fd = (int)raw_call(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_XFRM, 0, 0);
    if (fd < 0) return 77;
    CHECK(raw_call(SYS_connect, fd, (long)&kernel_end, sizeof kernel_end, 0, 0) == 0);
    mark(BEGIN);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        request(fd, GET_SPDINFO, 2 * i);
        request(fd, BAD_TYPE, 2 * i + 1);
        CHECK(known(answer(fd, 2 * i)));
        CHECK(answer(fd, 2 * i + 1) == -EINVAL);
    }
    close(fd);
    mark(END);
    return 0;
}
