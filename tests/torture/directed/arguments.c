/* SPDX-License-Identifier: MIT
 *
 * Unusual arguments: each call is made on our connection while something is
 * held, and, by a raw system call, on a second one; both must answer the same,
 * and all that was accepted arrives in order.
 */
#include "directed.h"

#include <limits.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>

enum { MANY = IOV_MAX + 1 };

static struct pair ours, bare;
static char *bad; /* an address that faults */

/* Compares `n` and errno of our call with the raw call's. */
static void same(const char *what, ssize_t n, long raw_result) {
    long mine = n < 0 ? -errno : n;
    CHECK(mine == raw_result, "%s returned %ld (%s), bare %ld (%s)", what, mine,
          mine < 0 ? strerror((int)-mine) : "", raw_result,
          raw_result < 0 ? strerror((int)-raw_result) : "");
    if (n > 0) {
        ours.put += (uint64_t)n;
        bare.put += (uint64_t)n;
    }
}

/* Both have a little under way. */
static void begin(void) {
    if (ours.ours == 0) {
        ours = pair_warm(0);
        bare = pair_warm(0);
        bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    CHECK(raw(SYS_write, bare.ours, (long)content(bare.put), 50, 0, 0, 0) == 50, "raw write");
    bare.put += 50;
    put_all(&ours, 50); /* last: nothing ends its turn, it is still held or buffered */
}

static void settle(void) {
    arrives(&ours, (int)window_ms() + 200);
    arrives(&bare, (int)window_ms() + 200);
}

static const void *here(size_t skip) {
    return content(ours.put + skip);
}

static void write_nothing(int way) {
    struct iovec none = {NULL, 0};
    struct msghdr message = {.msg_iov = &none, .msg_iovlen = 1}, empty = {0};
    int fd = bare.ours;
    switch (way) {
    case 0:
        same("write of 0", write(ours.ours, here(0), 0), raw(SYS_write, fd, (long)here(0), 0, 0, 0, 0));
        break;
    case 1:
        same("write of NULL", write(ours.ours, NULL, 0), raw(SYS_write, fd, 0, 0, 0, 0, 0));
        break;
    case 2:
        same("send of 0", send(ours.ours, here(0), 0, 0), raw(SYS_sendto, fd, 0, 0, 0, 0, 0));
        break;
    case 3:
        same("writev of 0", writev(ours.ours, &none, 1), raw(SYS_writev, fd, (long)&none, 1, 0, 0, 0));
        break;
    case 4:
        same("writev of none", writev(ours.ours, &none, 0), raw(SYS_writev, fd, (long)&none, 0, 0, 0, 0));
        break;
    case 5:
        same("sendmsg of 0", sendmsg(ours.ours, &message, 0),
             raw(SYS_sendmsg, fd, (long)&message, 0, 0, 0, 0));
        break;
    default:
        same("sendmsg of none", sendmsg(ours.ours, &empty, 0),
             raw(SYS_sendmsg, fd, (long)&empty, 0, 0, 0, 0));
        break;
    }
}

/* The window ends the hold all the same, before the kernel's 200 ms.  A busy machine may take these
 * 200 ms, but not five times in a row. */
static void zero_lengths(void) {
    enum { WAYS = 7, TRIES = 5 };
    for (int way = 0; way < WAYS; way++) {
        unsigned took = UINT_MAX;
        for (int tries = 0; tries < TRIES && took >= window_ms() + 80; tries++) {
            begin();
            write_nothing(way);
            uint64_t before = now_ms();
            arrives(&ours, 5000);
            arrives(&bare, 5000);
            took = (unsigned)(now_ms() - before);
        }
        CHECK_TIME(took < window_ms() + 80, "way %d: kept for %u ms", way, took);
    }
}

/* A hold, nothing, and a wait: the wait pushes all the same. */
static void nothing_between_hold_and_wait(void) {
    struct pollfd in;
    for (int i = 0; i < 4; i++) {
        begin();
        same("write of 0", write(ours.ours, here(0), 0), raw(SYS_write, bare.ours, 0, 0, 0, 0, 0));
        in = (struct pollfd){.fd = ours.ours, .events = POLLIN};
        poll(&in, 1, 1);
        arrives(&ours, mode_is("bare") ? 200 : (int)window_ms() - 30);
    }
}

static void faults(void) {
    struct iovec half[2] = {{(void *)(uintptr_t)content(0), 100}, {NULL, 100}};
    struct msghdr message = {.msg_iov = half, .msg_iovlen = 2};
    begin();
    half[1].iov_base = bad;
    same("write of a bad buffer", write(ours.ours, bad, 100),
         raw(SYS_write, bare.ours, (long)bad, 100, 0, 0, 0));
    same("write of a large one", write(ours.ours, bad, 100000),
         raw(SYS_write, bare.ours, (long)bad, 100000, 0, 0, 0));
    same("send of a bad buffer", send(ours.ours, bad, 100, 0),
         raw(SYS_sendto, bare.ours, (long)bad, 100, 0, 0, 0));
    half[0].iov_base = (void *)(uintptr_t)here(0);
    same("writev of a half bad one", writev(ours.ours, half, 2),
         raw(SYS_writev, bare.ours, (long)half, 2, 0, 0, 0));
    half[0].iov_base = (void *)(uintptr_t)here(0);
    same("sendmsg of a half bad one", sendmsg(ours.ours, &message, 0),
         raw(SYS_sendmsg, bare.ours, (long)&message, 0, 0, 0, 0));
    settle();
}

static void bad_vectors(void) {
    static struct iovec many[MANY];
    struct msghdr message = {.msg_iov = many, .msg_iovlen = MANY};
    volatile int minus_one = -1; /* no warning, please */
    begin();
    same("writev of -1", writev(ours.ours, many, minus_one),
         raw(SYS_writev, bare.ours, (long)many, -1, 0, 0, 0));
    for (int i = 0; i < MANY; i++)
        many[i] = (struct iovec){(void *)(uintptr_t)here((size_t)i * 3), 3};
    same("writev of IOV_MAX", writev(ours.ours, many, IOV_MAX),
         raw(SYS_writev, bare.ours, (long)many, IOV_MAX, 0, 0, 0));
    same("writev beyond IOV_MAX", writev(ours.ours, many, MANY),
         raw(SYS_writev, bare.ours, (long)many, MANY, 0, 0, 0));
    same("sendmsg beyond IOV_MAX", sendmsg(ours.ours, &message, 0),
         raw(SYS_sendmsg, bare.ours, (long)&message, 0, 0, 0, 0));
    many[0].iov_len = SSIZE_MAX;
    many[1].iov_len = SSIZE_MAX;
    if (sizeof(long) == 8) /* a 64-bit kernel takes of a 32-bit program's as much as there is memory */
        same("writev beyond SSIZE_MAX", writev(ours.ours, many, 2),
             raw(SYS_writev, bare.ours, (long)many, 2, 0, 0, 0));
    many[0].iov_len = (size_t)-1;
    same("writev of a negative part", writev(ours.ours, many, 1),
         raw(SYS_writev, bare.ours, (long)many, 1, 0, 0, 0));
    settle();
}

/* As many parts as one call may have, behind held or buffered bytes: one call takes them all. */
static void long_vectors(void) {
    static struct iovec many[IOV_MAX];
    begin();
    for (int i = 0; i < IOV_MAX; i++)
        many[i] = (struct iovec){(void *)(uintptr_t)here((size_t)i * 9), 9};
    same("writev of IOV_MAX", writev(ours.ours, many, IOV_MAX),
         raw(SYS_writev, bare.ours, (long)many, IOV_MAX, 0, 0, 0));
    settle();
}

static void bad_pointers(void) {
    begin();
    same("writev of bad parts", writev(ours.ours, (struct iovec *)(void *)bad, 2),
         raw(SYS_writev, bare.ours, (long)bad, 2, 0, 0, 0));
    same("sendmsg of a bad message", sendmsg(ours.ours, (struct msghdr *)(void *)bad, 0),
         raw(SYS_sendmsg, bare.ours, (long)bad, 0, 0, 0, 0));
    settle();
}

static void bad_descriptors(void) {
    static const int numbers[] = {-1, 9999, 2000000, INT_MAX};
    char byte = 'x';
    begin();
    for (int i = 0; i < 4; i++) {
        int fd = numbers[i];
        same("write", write(fd, &byte, 1), raw(SYS_write, fd, (long)&byte, 1, 0, 0, 0));
        same("send", send(fd, &byte, 1, 0), raw(SYS_sendto, fd, (long)&byte, 1, 0, 0, 0));
        same("read", read(fd, &byte, 1), raw(SYS_read, fd, (long)&byte, 1, 0, 0, 0));
        same("close", close(fd), raw(SYS_close, fd, 0, 0, 0, 0, 0));
        same("dup2", dup2(fd, 60), raw(SYS_dup2, fd, 60, 0, 0, 0, 0));
    }
    int file = open("/dev/null", O_RDONLY);
    same("send to a file", send(file, &byte, 1, 0), raw(SYS_sendto, file, (long)&byte, 1, 0, 0, 0));
    same("write to what is read", write(file, &byte, 1), raw(SYS_write, file, (long)&byte, 1, 0, 0, 0));
    close(file);
    settle();
}

static void more_flags(void) {
    begin();
    same("MSG_EOR", send(ours.ours, here(0), 60, MSG_EOR),
         raw(SYS_sendto, bare.ours, (long)here(0), 60, MSG_EOR, 0, 0));
    same("MSG_CONFIRM", send(ours.ours, here(0), 60, MSG_CONFIRM),
         raw(SYS_sendto, bare.ours, (long)here(0), 60, MSG_CONFIRM, 0, 0));
    same("MSG_DONTROUTE", send(ours.ours, here(0), 60, MSG_DONTROUTE),
         raw(SYS_sendto, bare.ours, (long)here(0), 60, MSG_DONTROUTE, 0, 0));
    same("MSG_MORE", send(ours.ours, here(0), 60, MSG_MORE),
         raw(SYS_sendto, bare.ours, (long)here(0), 60, MSG_MORE, 0, 0));
    same("after MSG_MORE", send(ours.ours, here(0), 60, 0),
         raw(SYS_sendto, bare.ours, (long)here(0), 60, 0, 0, 0));
    settle();
}

static void out_of_band(void) {
    int one = 1;
    begin();
    raw(SYS_setsockopt, ours.theirs, SOL_SOCKET, SO_OOBINLINE, (long)&one, sizeof(one), 0);
    raw(SYS_setsockopt, bare.theirs, SOL_SOCKET, SO_OOBINLINE, (long)&one, sizeof(one), 0);
    for (int i = 0; i < 3; i++) {
        same("MSG_OOB", send(ours.ours, here(0), 2, MSG_OOB),
             raw(SYS_sendto, bare.ours, (long)here(0), 2, MSG_OOB, 0, 0));
        struct pollfd urgent = {.fd = ours.theirs, .events = POLLPRI};
        struct timespec limit = {.tv_sec = 2};
        CHECK(raw(SYS_ppoll, (long)&urgent, 1, (long)&limit, 0, 8, 0) == 1, "nothing is urgent");
        put_all(&ours, 40);
        put_all(&bare, 40);
        settle();
    }
}

static void zero_copy(void) {
    static char buffer[20000]; /* must stay as it is until the kernel says so */
    char control[256];
    int one = 1;
    begin();
    if (setsockopt(ours.ours, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) != 0)
        return; /* before Linux 4.14 */
    raw(SYS_setsockopt, bare.ours, SOL_SOCKET, SO_ZEROCOPY, (long)&one, sizeof(one), 0);
    /* one that could be held, and a large one */
    for (size_t bytes = 400; bytes <= sizeof(buffer); bytes *= 50) {
        memcpy(buffer, here(0), bytes);
        same("MSG_ZEROCOPY", send(ours.ours, buffer, bytes, MSG_ZEROCOPY),
             raw(SYS_sendto, bare.ours, (long)buffer, (long)bytes, MSG_ZEROCOPY, 0, 0));
        put_all(&ours, 60);
        put_all(&bare, 60);
        settle();
        struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
        struct pollfd ready = {.fd = ours.ours};
        CHECK(poll(&ready, 1, 2000) == 1 && ready.revents & POLLERR, "no completion of MSG_ZEROCOPY");
        CHECK(recvmsg(ours.ours, &message, MSG_ERRQUEUE) >= 0, "MSG_ERRQUEUE: %s", strerror(errno));
    }
}

/* Ancillary data: a time stamp is asked for one message. */
static void ancillary(void) {
    union {
        char bytes[CMSG_SPACE(sizeof(uint32_t))];
        struct cmsghdr header;
    } control = {.header = {CMSG_LEN(sizeof(uint32_t)), SOL_SOCKET, SO_TIMESTAMPING}};
    uint32_t flags = SOF_TIMESTAMPING_TX_SCHED;
    memcpy(CMSG_DATA(&control.header), &flags, sizeof(flags));
    begin();
    struct iovec part = {(void *)(uintptr_t)here(0), 70};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    same("sendmsg with ancillary data", sendmsg(ours.ours, &message, 0),
         raw(SYS_sendmsg, bare.ours, (long)&message, 0, 0, 0, 0));
    control.header.cmsg_type = 12345;
    same("... of an unknown type", sendmsg(ours.ours, &message, 0),
         raw(SYS_sendmsg, bare.ours, (long)&message, 0, 0, 0, 0));
    settle();
}

static void huge_writes(void) {
    fcntl(0, F_GETFD);
    begin();
    fcntl(ours.ours, F_SETFL, O_NONBLOCK);
    put_all(&ours, 30);
    ssize_t n = put(&ours, 1 << 20);
    CHECK(n > 0, "a large write after a small one: %s", strerror(errno));
    put_until_full(&ours, 1 << 20);
    arrives(&ours, 3000);
}

CASE("writes of no length", zero_lengths())
CASE("a write of nothing between a hold and a wait", nothing_between_hold_and_wait())
CASE("buffers that fault", faults())
CASE("vectors that are too long", bad_vectors())
CASE("long vectors after small writes", long_vectors())
CASE("vectors that are not there", bad_pointers())
CASE("descriptors that are none", bad_descriptors())
CASE("unusual flags", more_flags())
CASE("out of band data", out_of_band())
CASE("MSG_ZEROCOPY", zero_copy())
CASE("ancillary data", ancillary())
CASE("huge writes after small ones", huge_writes())
