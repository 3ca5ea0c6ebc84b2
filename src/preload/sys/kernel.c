/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sys/resource.h>

#include "raw.h"

static int set_option(int fd, int level, int name, int value) {
    return (int)raw5(SYS_setsockopt, fd, level, name, &value, sizeof(value));
}

static int get_option(int fd, int level, int name, int *value) {
    socklen_t length = sizeof(*value);
    return (int)raw5(SYS_getsockopt, fd, level, name, value, &length);
}

static int cookie(int fd, uint64_t *value) {
    socklen_t length = sizeof(*value);
    return (int)raw5(SYS_getsockopt, fd, SOL_SOCKET, SO_COOKIE, value, &length);
}

/* TCP_CLOSE of net/tcp_states.h, which <linux/tcp.h> has not. */
enum { STATE_CLOSE = 7 };

static int tcp_info(int fd, struct kernel_tcp_info *out) {
    struct tcp_info info = {0};
    socklen_t length = sizeof(info);
    int error = (int)raw5(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &info, &length);
    if (error)
        return error;
    out->bytes_sent = info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
    out->bytes_queued = info.tcpi_notsent_bytes;
    out->bytes_received = info.tcpi_bytes_received;
    out->segments_out = info.tcpi_data_segs_out;
    out->unacked = info.tcpi_unacked;
    out->bytes_acked = info.tcpi_bytes_acked;
    out->pacing_rate = info.tcpi_pacing_rate;
    out->cwnd = info.tcpi_snd_cwnd;
    out->window = length >= offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(info.tcpi_snd_wnd)
                      ? info.tcpi_snd_wnd
                      : UINT32_MAX; /* before Linux 5.4 */
    out->mss = info.tcpi_snd_mss;
    out->rtt_least_us = info.tcpi_min_rtt == UINT32_MAX ? 0 : info.tcpi_min_rtt;
    out->last_sent_ms = info.tcpi_last_data_sent;
    out->last_received_ms = info.tcpi_last_data_recv;
    out->retransmissions = info.tcpi_total_retrans;
    out->ended = info.tcpi_state == STATE_CLOSE;
    return 0;
}

static ssize_t send_message(int fd, const struct msghdr *message, int flags) {
    /* for one part sendto(2) is cheaper: sendmsg(2) first copies the msghdr and the iovec from user space */
    if (message->msg_iovlen == 1)
        return raw6(SYS_sendto, fd, (long)message->msg_iov->iov_base,
                    (long)message->msg_iov->iov_len, flags, 0, 0);
    return raw3(SYS_sendmsg, fd, message, flags);
}

static int descriptor_flags(int fd) {
    return (int)raw2(SYS_fcntl, fd, F_GETFD);
}

static int status_flags(int fd) {
    return (int)raw2(SYS_fcntl, fd, F_GETFL);
}

static int is_file(int fd) {
    raw_stat st = {0};
    int error = (int)raw4(RAW_STAT_AT, fd, "", &st, AT_EMPTY_PATH);
    if (error)
        return error;
    return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

static int name_of(int fd, bool peer, struct sockaddr_storage *address) {
    socklen_t length = sizeof(*address);
    return (int)raw3(peer ? SYS_getpeername : SYS_getsockname, fd, address, &length);
}

static int writable(int fd, int timeout_ms) {
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    struct timespec most = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    int ready = (int)raw5(SYS_ppoll, &wait, 1, &most, NULL, 0);
    return ready > 0 && (wait.revents & POLLOUT);
}

static bool has_input(int fd) {
    char byte;
    return raw6(SYS_recvfrom, fd, (long)&byte, 1, MSG_PEEK | MSG_DONTWAIT, 0, 0) > 0;
}

static int dup_above(int fd, int lowest) {
    return (int)raw3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);
}

static int close_descriptor(int fd) {
    return (int)raw1(SYS_close, fd);
}

static int linger(int fd) {
    struct linger l = {0};
    socklen_t length = sizeof(l);
    return raw5(SYS_getsockopt, fd, SOL_SOCKET, SO_LINGER, &l, &length) == 0 && l.l_onoff ? l.l_linger : -1;
}

static int shut_writing(int fd) {
    return raw2(SYS_shutdown, fd, SHUT_WR);
}

static int end_linger(int fd) {
    struct linger off = {0};
    return (int)raw5(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
}

/* No descriptor: if the calls reach the kernel, they fail with EBADF. */
bool kernel_allows_holds(void) {
    struct msghdr nothing = {0};
    return send_message(-1, &nothing, 0) == -EBADF && raw6(SYS_sendto, -1, 0, 0, 0, 0, 0) == -EBADF &&
           set_option(-1, IPPROTO_TCP, TCP_NODELAY, 1) == -EBADF;
}

/* getrusage(2).  Its struct has words of the kernel, also where libc's time_t is longer. */
static int usage(struct kernel_usage *out) {
    struct {
        struct {
            unsigned long seconds, us;
        } user, system;
        long others[12];
        unsigned long voluntary_switches, involuntary_switches;
    } used = {0};
    int error = (int)raw2(SYS_getrusage, RUSAGE_THREAD, &used);
    if (error)
        return error;
    out->cpu_ns = (used.user.seconds + used.system.seconds) * UINT64_C(1000000000) +
                  (used.user.us + used.system.us) * UINT64_C(1000);
    out->waits = used.voluntary_switches;
    out->lost = used.involuntary_switches;
    return 0;
}

const struct kernel_ops kernel_real = {
    .set_option = set_option, .get_option = get_option, .cookie = cookie, .tcp_info = tcp_info,
    .send = send_message, .descriptor_flags = descriptor_flags, .status_flags = status_flags,
    .is_file = is_file, .name = name_of, .writable = writable, .has_input = has_input, .usage = usage,
    .dup_above = dup_above, .close = close_descriptor, .linger = linger, .end_linger = end_linger,
    .shut_writing = shut_writing,
};

const struct kernel_ops *kernel = &kernel_real;
