/* SPDX-License-Identifier: MIT
 *
 * The life of descriptors.  Forward only: the path is shim_life.c.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

#include "exports.h"
#include "hold.h"
#include "process.h"
#include "raw.h"
#include "rights.h"
#include "syscalls.h"

static int unstall_close(int fd) {
    shim_closing(fd);
    return REAL(close)(fd);
}

/* Flags that the kernel does not know it refuses.  CLOSE_RANGE_UNSHARE is an
 * unshare(CLONE_FILES) before it. */
static uint32_t closing_range(unsigned first, unsigned last, int flags) {
    if (flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC))
        return 0;
    uint32_t barred = flags & CLOSE_RANGE_UNSHARE ? rights_change(SYS_unshare, CLONE_FILES) : 0;
    if (!(flags & CLOSE_RANGE_CLOEXEC))
        shim_closing_range(first, last);
    return barred;
}

static int unstall_close_range(unsigned first, unsigned last, int flags) {
    uint32_t barred = closing_range(first, last, flags);
    int result = REAL(close_range)(first, last, flags);
    rights_changed(barred);
    return result;
}

static int unstall_dup(int fd) {
    int copy = REAL(dup)(fd);
    shim_duplicated(fd, copy);
    return copy;
}

static int unstall_dup2(int fd, int to) {
    shim_replacing(fd, to);
    int copy = REAL(dup2)(fd, to);
    shim_duplicated(fd, copy);
    return copy;
}

static int unstall_dup3(int fd, int to, int flags) {
    if (!(flags & ~O_CLOEXEC))
        shim_replacing(fd, to);
    int copy = REAL(dup3)(fd, to, flags);
    shim_duplicated(fd, copy);
    return copy;
}

static int unstall_fcntl(int fd, int command, void *argument) {
    if (command == F_SETLKW || command == F_OFD_SETLKW)
        hold_end_turn(PUSH_WAIT);
    int result = REAL(fcntl)(fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        shim_duplicated(fd, result);
    return result;
}

/* ---- the exported names ---------------------------------------------- */

EXPORT int close(int fd) {
    return unstall_close(fd);
}
ALSO(__close, close)

EXPORT int close_range(unsigned first, unsigned last, int flags) {
    return unstall_close_range(first, last, flags);
}

EXPORT void closefrom(int first) {
    shim_closing_range(first < 0 ? 0 : (unsigned)first, ~0U);
    REAL(closefrom)(first);
}

EXPORT int dup(int fd) {
    return unstall_dup(fd);
}

EXPORT int dup2(int fd, int to) {
    return unstall_dup2(fd, to);
}
ALSO(__dup2, dup2)

EXPORT int dup3(int fd, int to, int flags) {
    return unstall_dup3(fd, to, flags);
}

EXPORT int fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return unstall_fcntl(fd, command, argument);
}
ALSO(fcntl64, fcntl)
ALSO(__fcntl, fcntl)

/* ---- syscall(2) ------------------------------------------------------ */

const unsigned char unstall_syscalls[SYSCALL_NUMBERS] = {
    [SYS_write] = 1,      [SYS_writev] = 1,         [SYS_pwritev2] = 1,
    [SYS_sendto] = 1,     [SYS_sendmsg] = 1,        [SYS_sendmmsg] = 1,
    [SYS_sendfile] = 1,   [SYS_splice] = 1,         [SYS_read] = 1,
    [SYS_readv] = 1,      [SYS_recvfrom] = 1,       [SYS_recvmsg] = 1,
    [SYS_setsockopt] = 1, [SYS_getsockopt] = 1,
    [SYS_close] = 1,      [SYS_close_range] = 1,    [SYS_execve] = 1,
    [SYS_execveat] = 1,   [SYS_exit_group] = 1,     [SYS_seccomp] = 1,
    [SYS_exit] = 1,
    [SYS_io_uring_setup] = 1,
    [SYS_clone] = SYSCALL_BEGINS,
    [SYS_clone3] = SYSCALL_BEGINS,
#if defined(__x86_64__)
    [SYS_fork] = SYSCALL_BEGINS,
    [SYS_vfork] = SYSCALL_BEGINS,
#endif
#define RIGHT(name, what) [SYS_##name] = 1,
#include "rights.def"
#undef RIGHT
    /* waits */
    [SYS_futex] = SYSCALL_WAITS,
#ifdef SYS_futex_waitv
    [SYS_futex_waitv] = SYSCALL_WAITS,
#endif
#ifdef SYS_poll /* the older ones are x86-64's alone */
    [SYS_poll] = SYSCALL_WAITS,
    [SYS_select] = SYSCALL_WAITS,
    [SYS_epoll_wait] = SYSCALL_WAITS,
    [SYS_pause] = SYSCALL_WAITS,
#endif
    [SYS_ppoll] = SYSCALL_WAITS,
    [SYS_pselect6] = SYSCALL_WAITS,
    [SYS_epoll_pwait] = SYSCALL_WAITS,
    [SYS_epoll_pwait2] = SYSCALL_WAITS,
    [SYS_nanosleep] = SYSCALL_WAITS,
    [SYS_clock_nanosleep] = SYSCALL_WAITS,
    [SYS_accept] = SYSCALL_WAITS,
    [SYS_accept4] = SYSCALL_WAITS,
    [SYS_wait4] = SYSCALL_WAITS,
    [SYS_waitid] = SYSCALL_WAITS,
    [SYS_rt_sigtimedwait] = SYSCALL_WAITS,
    [SYS_io_uring_enter] = SYSCALL_WAITS,
};

/* Who asks by it without waiting ends no turn, where that is seen without following a pointer. */
static bool may_wait(long n, long b, long c, long d) {
    if (n < 0 || n >= SYSCALL_NUMBERS || unstall_syscalls[n] != SYSCALL_WAITS)
        return false;
    switch (n) {
    case SYS_futex:
        switch (b & FUTEX_CMD_MASK) {
        case FUTEX_WAIT:
        case FUTEX_WAIT_BITSET:
        case FUTEX_WAIT_REQUEUE_PI:
        case FUTEX_LOCK_PI:
        case FUTEX_LOCK_PI2: return true;
        default: return false;
        }
#ifdef SYS_poll
    case SYS_poll: return c != 0;
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait: return d != 0;
    default: return true;
    }
}

/* Calls that come back twice: after this they go on from jump.S, with no frame of ours.
 * The flags of clone3 are read as the kernel would, so that a bad pointer is its to name. */
void unstall_syscall_begins(long n, long a) {
    int saved = errno;
    uint64_t flags = CLONE_VM; /* of SYS_vfork, and where they cannot be read */
    struct iovec here = {&flags, sizeof(flags)}, there = {(void *)a, sizeof(flags)};
    if (n == SYS_clone)
        flags = (unsigned long)a;
    else if (n == SYS_clone3)
        raw6(SYS_process_vm_readv, raw0(SYS_getpid), (long)&here, 1, (long)&there, 1, 0);
#if defined(__x86_64__)
    else if (n == SYS_fork)
        flags = 0;
#endif
    process_clones(flags);
    errno = saved;
}

/* syscall(2) is no cancellation point: what may block goes on to it, not to libc's name. */
static long written(struct write_request *o) {
    o->raw = true;
    return shim_write(o);
}

/* One case a number. */
// NOLINTNEXTLINE(readability-function-size)
long unstall_syscall(long n, long a, long b, long c, long d, long e, long f) {
    struct write_request o = {.fd = (int)a, .caller = (uintptr_t)__builtin_return_address(0)};
    struct call call;
    switch (n) {
    case SYS_write:
        o.form = FORM_WRITE;
        o.buffer = (const void *)b;
        o.bytes = (size_t)c;
        return written(&o);
    case SYS_writev:
        o.form = FORM_WRITEV;
        o.iov = (const struct iovec *)b;
        o.iov_count = (int)c;
        return written(&o);
    case SYS_pwritev2: /* the kernel's own form has the offset in two halves */
        if (d != -1 || f)
            break;
        o.form = FORM_PWRITEV2;
        o.iov = (const struct iovec *)b;
        o.iov_count = (int)c;
        return written(&o);
    case SYS_sendto:
        o.form = FORM_SENDTO;
        o.buffer = (const void *)b;
        o.bytes = (size_t)c;
        o.flags = (int)d;
        o.address = (const struct sockaddr *)e;
        o.address_length = (socklen_t)f;
        return written(&o);
    case SYS_sendmsg:
        o.form = FORM_SENDMSG;
        o.message = (const struct msghdr *)b;
        o.flags = (int)c;
        o.raw = true;
        return shim_write_message(&o);
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
        call = shim_read_begins((int)a, n == SYS_recvfrom && (d & MSG_DONTWAIT));
        return shim_read_ends(call, REAL(syscall)(n, a, b, c, d, e, f), 0);
    case SYS_close: shim_closing((int)a); break;
    case SYS_close_range: {
        uint32_t barred = closing_range((unsigned)a, (unsigned)b, (int)c);
        long result = REAL(syscall)(n, a, b, c, d, e, f);
        rights_changed(barred);
        return result;
    }
    case SYS_sendmmsg:
        return by_syscall_sendmmsg((int)a, (struct mmsghdr *)b, (unsigned)c, (int)d, o.caller);
    case SYS_sendfile: return by_syscall_sendfile((int)a, (int)b, (off_t *)c, (size_t)d, o.caller);
    case SYS_splice:
        return by_syscall_splice((int)a, (off64_t *)b, (int)c, (off64_t *)d, (size_t)e, (unsigned)f,
                                 o.caller);
    case SYS_recvmsg: return by_syscall_recvmsg((int)a, (struct msghdr *)b, (int)c);
    case SYS_setsockopt: {
        shim_option_setting((int)a, (int)b, (int)c);
        long result = REAL(syscall)(n, a, b, c, d, e, f);
        if (result == 0)
            shim_option_set((int)a, (int)b, (int)c, (const void *)d, (socklen_t)e);
        return result;
    }
    case SYS_getsockopt: {
        long result = REAL(syscall)(n, a, b, c, d, e, f);
        if (result == 0)
            shim_option_got((int)a, (int)b, (int)c, (void *)d, *(const socklen_t *)e);
        return result;
    }
    case SYS_exit_group: process_ends(); break;
    case SYS_exit: process_task_exits(); break;
    case SYS_execve:
    case SYS_execveat:
        if (n == SYS_execve)
            process_is_replaced((const char *)a);
        else
            process_is_replaced_at((int)a, e & AT_EMPTY_PATH ? NULL : (const char *)b);
        return process_stays((int)REAL(syscall)(n, a, b, c, d, e, f));
#define RIGHT(name, what) case SYS_##name:
#include "rights.def"
#undef RIGHT
        {
            if (n == SYS_prctl && a == PR_SET_SECCOMP)
                return prctl((int)a, b, c, d, e);
            uint32_t barred = rights_change(n, (unsigned long)a);
            long result = REAL(syscall)(n, a, b, c, d, e, f);
            rights_changed(barred);
            return result;
        }
    case SYS_io_uring_setup: {
        long ring = REAL(syscall)(n, a, b, c, d, e, f);
        if (ring >= 0)
            shim_uring();
        return ring;
    }
    case SYS_seccomp: {
        bool filter = a == SECCOMP_SET_MODE_FILTER || a == SECCOMP_SET_MODE_STRICT;
        if (filter)
            process_filters(a == SECCOMP_SET_MODE_STRICT);
        long result = REAL(syscall)(n, a, b, c, d, e, f);
        if (filter)
            process_filtered(result >= 0);
        return result;
    }
    default:
        if (may_wait(n, b, c, d))
            hold_end_turn(PUSH_WAIT);
        break;
    }
    return REAL(syscall)(n, a, b, c, d, e, f);
}

void *unstall_syscall_next(void) {
    return (void *)(uintptr_t)REAL(syscall);
}
