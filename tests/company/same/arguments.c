/* SPDX-License-Identifier: MIT
 *
 * Unusual arguments of writes: no bytes, too many parts, flags, ancillary data, numbers of no descriptor.
 */
#include "same.h"

#include <limits.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>

CASE(writes_of_nothing) {
    struct iovec none = {NULL, 0};
    struct msghdr message = {.msg_iov = &none, .msg_iovlen = 1}, empty = {0};
    SAY(write(fd, known, 0));
    SAY(write(fd, NULL, 0));
    SAY(send(fd, known, 0, 0));
    SAY(writev(fd, &none, 1));
    SAY(writev(fd, &none, 0));
    SAY(sendmsg(fd, &message, 0));
    SAY(sendmsg(fd, &empty, 0));
    SAY(write(fd, "something", 9));
}

CASE(vectors_that_are_too_long) {
    enum { MANY = IOV_MAX + 1 };
    static struct iovec many[MANY];
    static char bytes[3 * MANY];
    struct msghdr message = {.msg_iov = many, .msg_iovlen = MANY};
    volatile int minus_one = -1; /* no warning, please */
    for (int i = 0; i < MANY; i++) {
        memset(bytes + 3 * i, 'a' + i % 26, 3);
        many[i] = (struct iovec){bytes + 3 * i, 3};
    }
    SAY(writev(fd, many, minus_one));
    SAY(writev(fd, many, IOV_MAX));
    SAY(write(fd, "small", 5));
    SAY(writev(fd, many, IOV_MAX));
    SAY(writev(fd, many, MANY));
    SAY(sendmsg(fd, &message, 0));
    many[0].iov_len = many[1].iov_len = SSIZE_MAX;
    SAY(writev(fd, many, 2));
    many[0].iov_len = (size_t)-1;
    SAY(writev(fd, many, 1));
}

CASE(unusual_flags) {
    SAY(send(fd, "record", 6, MSG_EOR));
    SAY(send(fd, "confirmed", 9, MSG_CONFIRM));
    SAY(send(fd, "not routed", 10, MSG_DONTROUTE));
    SAY(send(fd, "more", 4, MSG_MORE));
    SAY(send(fd, "behind it", 9, 0));
}

/* A time stamp is asked for one message. */
CASE(ancillary_data) {
    union {
        char bytes[CMSG_SPACE(sizeof(uint32_t))];
        struct cmsghdr header;
    } control = {.header = {CMSG_LEN(sizeof(uint32_t)), SOL_SOCKET, SO_TIMESTAMPING}};
    memcpy(CMSG_DATA(&control.header), &(uint32_t){SOF_TIMESTAMPING_TX_SCHED}, sizeof(uint32_t));
    struct iovec part = {"stamped", 7};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    SAY(sendmsg(fd, &message, 0));
    control.header.cmsg_type = 12345;
    SAY(sendmsg(fd, &message, 0));
}

CASE(descriptors_that_are_none) {
    static const int numbers[] = {-1, 9999, 2000000, INT_MAX};
    int file = open("/dev/null", O_RDONLY);
    for (int i = 0; i < 4; i++) {
        SAY(write(numbers[i], known, 1));
        SAY(send(numbers[i], known, 1, 0));
        SAY(read(numbers[i], known, 1));
        SAY(close(numbers[i]));
        SAY(dup2(numbers[i], 60));
    }
    SAY(send(file, known, 1, 0));
    SAY(write(file, known, 1));
}
