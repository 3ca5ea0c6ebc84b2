/* SPDX-License-Identifier: MIT
 *
 * The library's system calls, on real sockets: their arguments and their answers.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"
#include "unit.h"

static int near_end, far_end;
static uint16_t near_port, far_port;

static uint16_t port_of(int fd) {
    struct sockaddr_in name;
    socklen_t length = sizeof(name);
    ASSERT(getsockname(fd, (struct sockaddr *)&name, &length) == 0);
    return ntohs(name.sin_port);
}

static void connect_both(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    near_end = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT(bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(listener, 1) == 0);
    far_port = port_of(listener);
    at.sin_port = htons(far_port);
    ASSERT(connect(near_end, (struct sockaddr *)&at, sizeof(at)) == 0);
    far_end = accept(listener, NULL, NULL);
    near_port = port_of(near_end);
    close(listener);
    errno = 4711;
}

static void nothing_else(void) {
    EXPECT_INT("errno is the program's", errno, 4711);
}

TestSuite(kernel, .init = connect_both, .fini = nothing_else, .timeout = 20);

Test(kernel, is_the_real_one) {
    EXPECT(kernel == &kernel_real);
}

static int asked(int fd, int level, int name) {
    int value = -7;
    socklen_t length = sizeof(value);
    getsockopt(fd, level, name, &value, &length);
    return value;
}

Test(kernel, options) {
    int value = -7;
    EXPECT_INT("set", kernel->set_option(near_end, IPPROTO_TCP, TCP_NODELAY, 1), 0);
    EXPECT_INT("it is", asked(near_end, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_INT("not the other end's", asked(far_end, IPPROTO_TCP, TCP_NODELAY), 0);
    EXPECT_INT("got", kernel->get_option(near_end, IPPROTO_TCP, TCP_NODELAY, &value), 0);
    EXPECT_INT("value", value, 1);
    EXPECT_INT("cleared", kernel->set_option(near_end, IPPROTO_TCP, TCP_NODELAY, 0), 0);
    EXPECT_INT("it is", asked(near_end, IPPROTO_TCP, TCP_NODELAY), 0);
    EXPECT_INT("of another level", kernel->get_option(near_end, SOL_SOCKET, SO_PROTOCOL, &value), 0);
    EXPECT_INT("value", value, IPPROTO_TCP);
    value = -7;
    EXPECT_INT("none", kernel->get_option(-1, IPPROTO_TCP, TCP_NODELAY, &value), -EBADF);
    EXPECT_INT("none", kernel->set_option(-1, IPPROTO_TCP, TCP_NODELAY, 1), -EBADF);
    EXPECT_INT("value", value, -7);
}

Test(kernel, cookies) {
    uint64_t first = 0, again = 0, other = 0;
    EXPECT_INT("got", kernel->cookie(near_end, &first), 0);
    EXPECT_INT("got", kernel->cookie(near_end, &again), 0);
    EXPECT_INT("got", kernel->cookie(far_end, &other), 0);
    EXPECT(first && first == again && other && other != first);
    int ends[2];
    ASSERT(pipe(ends) == 0);
    EXPECT_INT("a pipe", kernel->cookie(ends[0], &first), -ENOTSOCK);
}

static void send_and_read(const char *text, size_t bytes) {
    char got[64] = "";
    ASSERT(bytes < sizeof(got) && recv(far_end, got, bytes, MSG_WAITALL) == (ssize_t)bytes);
    EXPECT_TEXT("arrived", got, text);
}

Test(kernel, sends_of_one_part_and_of_more) {
    struct iovec parts[] = {{(char[]){"head"}, 4}, {(char[]){"-"}, 1}, {(char[]){"body"}, 4}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1};
    EXPECT_INT("one", kernel->send(near_end, &message, MSG_NOSIGNAL), 4);
    send_and_read("head", 4);
    message.msg_iovlen = 3;
    EXPECT_INT("three", kernel->send(near_end, &message, MSG_NOSIGNAL), 9);
    send_and_read("head-body", 9);
    message.msg_iovlen = 0;
    EXPECT_INT("none", kernel->send(near_end, &message, MSG_NOSIGNAL), 0);
    message.msg_iovlen = 1;
    EXPECT_INT("nowhere", kernel->send(-1, &message, MSG_NOSIGNAL), -EBADF);
    shutdown(near_end, SHUT_WR);
    errno = 4711;
    EXPECT_INT("after the end", kernel->send(near_end, &message, MSG_NOSIGNAL), -EPIPE);
    message.msg_iovlen = 2;
    EXPECT_INT("after the end", kernel->send(near_end, &message, MSG_NOSIGNAL), -EPIPE);
}

/* MSG_MORE keeps it back, for one part and for more. */
Test(kernel, flags_of_a_send) {
    struct iovec parts[] = {{(char[]){"ab"}, 2}, {(char[]){"cd"}, 2}};
    for (size_t count = 1; count <= 2; count++) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        struct kernel_tcp_info info = {0};
        EXPECT_INT("held", kernel->send(near_end, &message, MSG_MORE | MSG_NOSIGNAL), 2 * count);
        EXPECT_INT("asked", kernel->tcp_info(near_end, &info), 0);
        EXPECT_INT("it waits", info.bytes_queued, 2 * count);
        kernel->set_option(near_end, IPPROTO_TCP, TCP_NODELAY, 1);
        send_and_read(count == 1 ? "ab" : "abcd", 2 * count);
        kernel->set_option(near_end, IPPROTO_TCP, TCP_NODELAY, 0);
    }
    errno = 4711;
}

/* As getsockopt(2) says, in the numbers that we use. */
Test(kernel, facts_of_a_connection) {
    struct tcp_info all = {0};
    struct kernel_tcp_info info;
    socklen_t length = sizeof(all);
    memset(&info, 0x5a, sizeof(info));
    ASSERT(send(near_end, "0123456789", 10, 0) == 10);
    send_and_read("0123456789", 10);
    ASSERT(send(far_end, "abc", 3, 0) == 3);
    char got[3];
    ASSERT(recv(near_end, got, 3, MSG_WAITALL) == 3);
    usleep(60000); /* all is acknowledged */
    EXPECT_INT("asked", kernel->tcp_info(near_end, &info), 0);
    ASSERT(getsockopt(near_end, IPPROTO_TCP, TCP_INFO, &all, &length) == 0);
    EXPECT_INT("sent", info.bytes_sent, 10);
    EXPECT_INT("received", info.bytes_received, 3);
    EXPECT_INT("queued", info.bytes_queued, 0);
    EXPECT_INT("unacked", info.unacked, 0);
    EXPECT_INT("segments", info.segments_out, 1);
    EXPECT_INT("acked", info.bytes_acked, all.tcpi_bytes_acked);
    EXPECT_INT("mss", info.mss, all.tcpi_snd_mss);
    EXPECT_INT("cwnd", info.cwnd, all.tcpi_snd_cwnd);
    EXPECT_INT("window", info.window, all.tcpi_snd_wnd);
    EXPECT_INT("pacing", info.pacing_rate, all.tcpi_pacing_rate);
    EXPECT_INT("rtt", info.rtt_least_us, all.tcpi_min_rtt);
    EXPECT_INT("lost", info.retransmissions, 0);
    cr_expect(info.last_sent_ms >= 50 && info.last_sent_ms < 10000, "%u", info.last_sent_ms);
    cr_expect(info.last_received_ms >= 50 && info.last_received_ms < 10000, "%u", info.last_received_ms);
    errno = 4711;
}

Test(kernel, facts_of_none) {
    struct kernel_tcp_info info;
    memset(&info, 0x5a, sizeof(info));
    const struct kernel_tcp_info before = info;
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    EXPECT_INT("no descriptor", kernel->tcp_info(-1, &info), -EBADF);
    EXPECT(kernel->tcp_info(udp, &info) < 0);
    cr_expect(memcmp(&before, &info, sizeof(info)) == 0, "an error is no answer");
}

Test(kernel, flags_of_a_descriptor) {
    EXPECT_INT("none", kernel->descriptor_flags(near_end), 0);
    fcntl(near_end, F_SETFD, FD_CLOEXEC);
    EXPECT_INT("one", kernel->descriptor_flags(near_end), FD_CLOEXEC);
    EXPECT_INT("no descriptor", kernel->descriptor_flags(-1), -EBADF);
    EXPECT(!(kernel->status_flags(near_end) & O_NONBLOCK));
    fcntl(near_end, F_SETFL, O_NONBLOCK);
    EXPECT(kernel->status_flags(near_end) & O_NONBLOCK);
    EXPECT_INT("no descriptor", kernel->status_flags(-1), -EBADF);
}

Test(kernel, files_never_block) {
    int ends[2], file = open("/proc/self/exe", O_RDONLY), folder = open("/", O_RDONLY | O_DIRECTORY);
    int device = open("/dev/null", O_RDWR);
    ASSERT(pipe(ends) == 0);
    errno = 4711;
    EXPECT_INT("a file", kernel->is_file(file), 1);
    EXPECT_INT("a folder", kernel->is_file(folder), 1);
    EXPECT_INT("a pipe", kernel->is_file(ends[0]), 0);
    EXPECT_INT("a socket", kernel->is_file(near_end), 0);
    EXPECT_INT("a device", kernel->is_file(device), 0);
    EXPECT_INT("no descriptor", kernel->is_file(-1), -EBADF);
}

Test(kernel, names) {
    struct sockaddr_storage name;
    struct sockaddr_in *in = (struct sockaddr_in *)&name;
    EXPECT_INT("peer", kernel->name(near_end, true, &name), 0);
    EXPECT_INT("port", ntohs(in->sin_port), far_port);
    EXPECT_INT("local", kernel->name(near_end, false, &name), 0);
    EXPECT_INT("port", ntohs(in->sin_port), near_port);
    int alone = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_INT("not connected", kernel->name(alone, true, &name), -ENOTCONN);
}

Test(kernel, room) {
    static char much[1 << 16];
    struct pollfd room = {.fd = near_end, .events = POLLOUT};
    EXPECT(kernel->writable(near_end, 0));
    do /* what the peer acknowledges late makes room once more */
        while (send(near_end, much, sizeof(much), MSG_DONTWAIT) > 0) {
        }
    while (poll(&room, 1, 200) > 0);
    EXPECT(!kernel->writable(near_end, 0));
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    EXPECT(!kernel->writable(near_end, 1100));
    clock_gettime(CLOCK_MONOTONIC, &ended);
    long ms = (ended.tv_sec - begun.tv_sec) * 1000 + (ended.tv_nsec - begun.tv_nsec) / 1000000;
    cr_expect(ms >= 1099, "after %ld ms", ms);
    EXPECT(!kernel->writable(-1, 0));
    int ends[2];
    ASSERT(pipe(ends) == 0);
    close(ends[0]);
    errno = 4711;
    cr_expect(kernel->writable(ends[1], 0), "to nobody, which is an error at once");
}

Test(kernel, descriptors) {
    int own = kernel->dup_above(near_end, 200);
    EXPECT(own >= 200);
    EXPECT_INT("closed at exec", fcntl(own, F_GETFD), FD_CLOEXEC);
    EXPECT_INT("the same socket", port_of(own), near_port);
    EXPECT_INT("closed", kernel->close(own), 0);
    EXPECT_INT("gone", kernel->descriptor_flags(own), -EBADF);
    EXPECT_INT("twice", kernel->close(own), -EBADF);
    EXPECT_INT("of none", kernel->dup_above(-1, 0), -EBADF);
}
