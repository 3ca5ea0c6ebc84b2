/* SPDX-License-Identifier: MIT
 *
 * System calls of a stopped thread.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "who_look.h"

enum { PIECES_MOST = 16 };

static bool peek(pid_t thread, uint64_t from, void *to, size_t bytes) {
    void *at = (void *)(uintptr_t)from; // NOLINT(performance-no-int-to-ptr): of another process
    struct iovec here = {to, bytes}, there = {at, bytes};
    return process_vm_readv(thread, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* The bytes of a vector; a program of another word size has another layout and counts as 0. */
static uint64_t sum_of(pid_t thread, uint64_t at, uint64_t count) {
    struct iovec piece[PIECES_MOST];
    uint64_t bytes = 0;
    if (count > PIECES_MOST)
        count = PIECES_MOST;
    if (!count || !peek(thread, at, piece, (size_t)count * sizeof(piece[0])))
        return 0;
    for (uint64_t i = 0; i < count; i++)
        bytes += piece[i].iov_len;
    return bytes;
}

static uint64_t message_bytes(pid_t thread, uint64_t at) {
    struct msghdr m;
    return peek(thread, at, &m, sizeof(m)) ? sum_of(thread, (uint64_t)(uintptr_t)m.msg_iov, m.msg_iovlen) : 0;
}

enum who_call who_call_now(pid_t thread, int *fd, uint64_t *bytes) {
    struct __ptrace_syscall_info info = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return CALL_OTHER;
    const uint64_t *argument = (const uint64_t *)info.entry.args;
    *fd = (int)argument[0];
    *bytes = argument[2];
    switch (info.entry.nr) {
    case SYS_write:
    case SYS_sendto:
        return CALL_SEND;
    case SYS_writev:
        *bytes = sum_of(thread, argument[1], argument[2]);
        return CALL_SEND;
    case SYS_sendmsg:
        *bytes = message_bytes(thread, argument[1]);
        return CALL_SEND;
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
        return CALL_RECEIVE;
    case SYS_close:
        return CALL_CLOSE;
    default:
        return CALL_OTHER;
    }
}

/* Asks an option of a descriptor of a process. */
static bool asks(pid_t pid, int fd, int level, int option, void *value, socklen_t size) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    int ours = process >= 0 ? (int)syscall(SYS_pidfd_getfd, process, fd, 0) : -1;
    bool known = ours >= 0 && getsockopt(ours, level, option, value, &size) == 0;
    if (ours >= 0)
        close(ours);
    if (process >= 0)
        close(process);
    return known;
}

bool who_is_tcp(pid_t pid, int fd) {
    int protocol = 0;
    return asks(pid, fd, SOL_SOCKET, SO_PROTOCOL, &protocol, sizeof(protocol)) && protocol == IPPROTO_TCP;
}

bool who_is_unacknowledged(pid_t pid, int fd) {
    struct tcp_info info = {0};
    return asks(pid, fd, IPPROTO_TCP, TCP_INFO, &info, sizeof(info)) && info.tcpi_unacked > 0;
}
