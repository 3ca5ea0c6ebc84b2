/* SPDX-License-Identifier: MIT
 *
 * The clock's source, and the flags and the room of sends of our own, on real sockets.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/uio.h>
#include <time.h>

#include "clock.h"
#include "kernel.h"
#include "unit.h"

/* Another library may replace clock_gettime(2); no library can replace the vDSO.  After prctl(PR_SET_TSC)
 * reading it would be SIGSEGV, also after a later start. */
Test(clock, is_the_kernels) {
    Dl_info of;
    clock_start();
    ASSERT(dladdr((void *)(uintptr_t)clock_get, &of));
    cr_expect(strstr(of.dli_fname, "vdso"), "%s", of.dli_fname);
    for (int i = 0; i < 3; i++) {
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        uint64_t now = clock_now(), coarse = clock_coarse();
        clock_gettime(CLOCK_MONOTONIC, &after);
        EXPECT(now >= (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec);
        EXPECT(now <= (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec);
        EXPECT(coarse <= now && now - coarse < 1000000000);
        EXPECT_INT("a call", clock_is_call(), i > 0);
        clock_avoid_vdso();
        clock_start();
    }
}

/* Two instants of one tick differ by nothing, two close to its edge by all of it. */
Test(clock, how_far_apart_is_surely_apart) {
    struct timespec tick;
    ASSERT(clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && tick.tv_sec == 0 && tick.tv_nsec > 0);
    EXPECT_INT("a moment is a tick", clock_coarse_surely(1), tick.tv_nsec);
    EXPECT_INT("a tick", clock_coarse_surely((uint64_t)tick.tv_nsec), tick.tv_nsec);
    EXPECT_INT("more", clock_coarse_surely((uint64_t)tick.tv_nsec + 1), tick.tv_nsec + 1);
}

static int near_end, far_end;

static void connect_both(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    near_end = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT(bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(listener, 1) == 0);
    ASSERT(getsockname(listener, (struct sockaddr *)&at, &length) == 0);
    ASSERT(connect(near_end, (struct sockaddr *)&at, sizeof(at)) == 0);
    far_end = accept(listener, NULL, NULL);
    close(listener);
    errno = 4711;
}

TestSuite(kernel, .init = connect_both, .timeout = 20);

/* One part goes by sendto(2), more by sendmsg(2). */
Test(kernel, flags_of_a_send) {
    struct iovec parts[] = {{(char[]){"ab"}, 2}, {(char[]){"cd"}, 2}};
    for (size_t count = 1; count <= 2; count++) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        struct kernel_tcp_info info = {0};
        char got[4];
        EXPECT_INT("held", kernel->send(near_end, &message, MSG_MORE | MSG_NOSIGNAL), 2 * count);
        EXPECT_INT("asked", kernel->tcp_info(near_end, &info), 0);
        EXPECT_INT("it waits", info.bytes_queued, 2 * count);
        kernel->set_option(near_end, IPPROTO_TCP, TCP_NODELAY, 1);
        EXPECT_INT("arrived", recv(far_end, got, 2 * count, MSG_WAITALL), 2 * count);
        kernel->set_option(near_end, IPPROTO_TCP, TCP_NODELAY, 0);
    }
    shutdown(near_end, SHUT_WR);
    errno = 4711;
    for (size_t count = 1; count <= 2; count++) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        EXPECT_INT("after the end", kernel->send(near_end, &message, MSG_NOSIGNAL), -EPIPE);
    }
    EXPECT_INT("errno is the program's", errno, 4711);
}

Test(kernel, room) {
    static char much[1 << 16];
    struct pollfd room = {.fd = near_end, .events = POLLOUT};
    EXPECT(kernel->writable(near_end, 0) && !kernel->writable(-1, 0));
    do /* what the peer acknowledges late makes room once more */
        while (send(near_end, much, sizeof(much), MSG_DONTWAIT) > 0) {
        }
    while (poll(&room, 1, 200) > 0);
    uint64_t begun = clock_now();
    EXPECT(!kernel->writable(near_end, 0) && !kernel->writable(near_end, 1100));
    EXPECT(clock_now() - begun >= 1099000000);
}

/* A descriptor of our own does not outlive an exec; flags are those of the program. */
Test(kernel, descriptors) {
    int own = kernel->dup_above(near_end, 200);
    EXPECT(own >= 200);
    EXPECT_INT("closed at exec", fcntl(own, F_GETFD), FD_CLOEXEC);
    EXPECT_INT("asked", kernel->descriptor_flags(own), FD_CLOEXEC);
    EXPECT_INT("the program's", kernel->descriptor_flags(near_end), 0);
    EXPECT(!(kernel->status_flags(near_end) & O_NONBLOCK));
    fcntl(near_end, F_SETFL, O_NONBLOCK);
    EXPECT(kernel->status_flags(near_end) & O_NONBLOCK);
    EXPECT_INT("closed", kernel->close(own), 0);
    EXPECT_INT("gone", kernel->descriptor_flags(own), -EBADF);
}
