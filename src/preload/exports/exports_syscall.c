/* SPDX-License-Identifier: MIT
 *
 * syscall(2): which calls are ours, and the same path for each as by libc's name.
 *
 * A program calls syscall(); jump.S looks up the number in `unstall_syscalls`, a byte for each.  0: not ours;
 * it jumps to libc's syscall() without a frame of ours, so that what returns twice, or on another stack,
 * finds none.  WAITS: the same, unless this thread has an open turn, which must end first.  BEGINS (clone,
 * fork, vfork): unstall_syscall_begins() does what is due before, and then it jumps on.  OURS:
 * unstall_syscall() makes the call, by the case of the number.
 *
 * The arguments are six longs, of which each number uses the first ones; what of them may be followed, and
 * when, says docs/design.md, "The caller's pointers".  Where a 32-bit kernel has two numbers for a call
 * (times of 64 bits, wider offsets), both are listed.  A number without a case of its own is a WAITS: it ends
 * the turn if its arguments do not exclude a wait (may_wait).
 */
#include <linux/futex.h>
#include <linux/net.h>
#include <linux/seccomp.h>

#include "exports.h"

#define OURS(name)   [SYS_##name] = 1
#define BEGINS(name) [SYS_##name] = SYSCALL_BEGINS
#define WAITS(name)  [SYS_##name] = SYSCALL_WAITS

/* jump.S reads it. */
extern const unsigned char unstall_syscalls[SYSCALL_NUMBERS];
const unsigned char unstall_syscalls[SYSCALL_NUMBERS] = {
    OURS(write), OURS(writev), OURS(pwritev2), OURS(sendto), OURS(sendmsg), OURS(sendmmsg),
    OURS(sendfile), OURS(splice), OURS(read), OURS(readv), OURS(recvfrom), OURS(recvmsg),
    OURS(setsockopt), OURS(getsockopt), OURS(close), OURS(close_range), OURS(execve),
    OURS(execveat), OURS(exit_group), OURS(exit), OURS(seccomp), OURS(io_uring_setup),
    OURS(kill), OURS(tkill), OURS(tgkill), OURS(rt_sigqueueinfo), OURS(rt_tgsigqueueinfo),
    OURS(pidfd_send_signal), OURS(shutdown), OURS(connect), OURS(recvmmsg), OURS(preadv2),
    OURS(dup3), OURS(dup), OURS(fcntl),
#define RIGHT(name, what) OURS(name),
#include "rights.def"
    BEGINS(clone), BEGINS(clone3),
#ifdef SYS_fork /* the older numbers */
    BEGINS(fork), BEGINS(vfork), WAITS(poll), WAITS(epoll_wait), WAITS(pause), OURS(dup2),
#endif
#ifdef SYS_select
    WAITS(select),
#endif
#ifdef SYS_accept
    WAITS(accept),
#endif
#ifdef SYS_socketcall
    OURS(socketcall),
#endif
#ifdef SYS_send /* arm */
    OURS(send), OURS(recv),
#endif
#ifdef SYS_sendfile64 /* 32-bit: wider offsets and times */
    OURS(sendfile64), OURS(recvmmsg_time64), WAITS(futex_time64), WAITS(ppoll_time64), WAITS(pselect6_time64),
    WAITS(clock_nanosleep_time64), WAITS(rt_sigtimedwait_time64), WAITS(_newselect), OURS(fcntl64),
    WAITS(mq_timedsend_time64), WAITS(mq_timedreceive_time64), WAITS(semtimedop_time64),
    WAITS(io_pgetevents_time64),
#endif
#ifdef SYS_sigsuspend /* the older one, beside rt_sigsuspend */
    WAITS(sigsuspend),
#endif
#ifdef SYS_waitpid
    WAITS(waitpid),
#endif
#ifdef SYS_futex_wait /* Linux 6.7 */
    WAITS(futex_wait),
#endif
    WAITS(futex), WAITS(ppoll), WAITS(pselect6), WAITS(epoll_pwait), WAITS(epoll_pwait2),
    WAITS(nanosleep), WAITS(clock_nanosleep), WAITS(accept4), WAITS(wait4),
    WAITS(waitid), WAITS(rt_sigtimedwait), WAITS(io_uring_enter), WAITS(rt_sigsuspend), WAITS(flock),
    WAITS(mq_timedsend), WAITS(mq_timedreceive), WAITS(io_getevents), WAITS(io_pgetevents),
    WAITS(io_submit), WAITS(futex_waitv), WAITS(msgsnd), WAITS(msgrcv),
#ifdef SYS_semop
    WAITS(semop),
#endif
#ifdef SYS_semtimedop
    WAITS(semtimedop),
#endif
#ifdef SYS_ipc
    WAITS(ipc),
#endif
};

static bool is_futex_wait(long command) {
    return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_WAIT_REQUEUE_PI ||
           command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2;
}

#ifdef SYS_ipc
static bool is_ipc_wait(long call) {
    enum { SEM_OP = 1, SEM_TIMED_OP = 4, MSG_SEND = 11, MSG_RECEIVE = 12 }; /* <linux/ipc.h> */
    return call == SEM_OP || call == SEM_TIMED_OP || call == MSG_SEND || call == MSG_RECEIVE;
}
#endif

/* Of a number that WAITS: all others have a case of their own.  False if the arguments show, without
 * following a pointer, that the call does not wait: such a call ends no turn. */
static bool may_wait(long n, long a, long b, long c, long d) {
    (void)a; /* unused if there is no SYS_ipc */
    switch (n) {
#ifdef SYS_futex_time64
    case SYS_futex_time64:
#endif
    case SYS_futex: return is_futex_wait(b & FUTEX_CMD_MASK);
#ifdef SYS_poll
    case SYS_poll: return c != 0;
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait: return d != 0;
#ifdef SYS_waitpid
    case SYS_waitpid:
#endif
    case SYS_wait4: return !(c & WNOHANG);
    case SYS_waitid: return !(d & WNOHANG);
    case SYS_flock: return !(b & LOCK_NB);
#ifdef SYS_io_pgetevents_time64
    case SYS_io_pgetevents_time64:
#endif
    case SYS_io_pgetevents:
    case SYS_io_getevents: return b != 0; /* the least number of events */
#ifdef SYS_ipc
    case SYS_ipc: return is_ipc_wait(a & 0xffff); /* above it is a version */
#endif
    default: return true;
    }
}

/* Runs before calls that return twice; jump.S then makes the call without a frame of ours.  So what ends
 * after a fork ends before it here: until the call another thread may start the window's thread again. */
void unstall_syscall_begins(long n, long a, long b) {
    uint32_t barred;
    (void)b; /* on i386 jump.S does not pass it */
#ifdef __s390x__
    if (n == SYS_clone) /* its stack comes first, and then the flags */
        a = b;
#endif
    if (n == SYS_clone3)
        barred = process_clones_by((const void *)a);
    else if (n == SYS_clone)
        barred = process_clones((unsigned long)a);
#ifdef SYS_fork
    else if (n == SYS_fork)
        barred = process_clones(0);
#endif
    else
        barred = process_clones(CLONE_VM); /* SYS_vfork */
    process_forked(-1, barred);
}

#ifdef SYS_socketcall
struct socket_call {
    long number; /* 0: not a call that we handle */
    long a[6];
};

/* socketcall(2) with its own system call's number and arguments (since Linux 4.3 each call has one). */
static struct socket_call socket_call(long call, const unsigned long *arguments) {
    static const struct {
        short number;
        uint8_t count;
    } calls[] = {
        [SYS_ACCEPT] = {SYS_accept4, 3},      [SYS_SEND] = {SYS_sendto, 4},
        [SYS_RECV] = {SYS_recvfrom, 4},       [SYS_SENDTO] = {SYS_sendto, 6},
        [SYS_RECVFROM] = {SYS_recvfrom, 6},   [SYS_SETSOCKOPT] = {SYS_setsockopt, 5},
        [SYS_GETSOCKOPT] = {SYS_getsockopt, 5}, [SYS_SENDMSG] = {SYS_sendmsg, 3},
        [SYS_RECVMSG] = {SYS_recvmsg, 3},     [SYS_ACCEPT4] = {SYS_accept4, 4},
        [SYS_SENDMMSG] = {SYS_sendmmsg, 4},   [SYS_SHUTDOWN] = {SYS_shutdown, 2},
        [SYS_CONNECT] = {SYS_connect, 3},     [SYS_RECVMMSG] = {SYS_recvmmsg, 5},
    };
    struct socket_call made = {0};
    if (call < 0 || (size_t)call >= ARRAY_SIZE(calls) || !calls[call].number ||
        !process_may_read(arguments, calls[call].count * sizeof(*arguments)))
        return made;
    made.number = calls[call].number;
    for (int i = 0; i < calls[call].count; i++)
        made.a[i] = (long)arguments[i];
    return made;
}
#endif

/* syscall(2) is no cancellation point, so calls that may block are forwarded to it, not to libc's name.
 * One case a number. */
// NOLINTNEXTLINE(readability-function-size)
long unstall_syscall(long n, long a, long b, long c, long d, long e, long f) {
#define NEXT() REAL(syscall)(n, a, b, c, d, e, f)
#define OUT(...) &(struct write_request){.fd = (int)a, .raw = true, .caller = caller, __VA_ARGS__}
#define READ(dont_wait, asked)                                    \
    __extension__({                                               \
        struct call call = shim_read_begins((int)a, (dont_wait)); \
        ssize_t got = NEXT();                                     \
        shim_read_ends(call, got, (asked));                       \
    })
    const uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    const void *buffer = (const void *)b;
    uint32_t barred = 0;
    long result;
    switch (n) {
#ifdef SYS_socketcall
    case SYS_socketcall: {
        const struct socket_call made = socket_call(a, (const unsigned long *)b);
        if (made.number)
            return unstall_syscall(made.number, made.a[0], made.a[1], made.a[2], made.a[3], made.a[4],
                                   made.a[5]);
        break;
    }
#endif
    case SYS_write: return shim_write(OUT(.form = FORM_WRITE, .buffer = buffer, .bytes = (size_t)c));
    case SYS_writev: return shim_write(OUT(.form = FORM_WRITEV, .iov = buffer, .iov_count = (int)c));
    case SYS_pwritev2: /* the kernel's own form has the offset in two halves */
        if (d != -1 || (sizeof(long) == 4 && e != -1)) {
            shim_other_write((int)a);
            break;
        }
        return unstall_pwritev2((int)a, buffer, (int)c, (int)f, true, caller);
    case SYS_sendto:
        return shim_write(OUT(.form = FORM_SENDTO, .buffer = buffer, .bytes = (size_t)c, .flags = (int)d,
                              .address = (const struct sockaddr *)e, .address_length = (socklen_t)f));
#ifdef SYS_send
    case SYS_send:
        return shim_write(OUT(.form = FORM_SENDTO, .buffer = buffer, .bytes = (size_t)c, .flags = (int)d));
#endif
    case SYS_sendmsg:
        return shim_write_message(OUT(.form = FORM_SENDMSG, .message = buffer, .flags = (int)c));
    case SYS_sendmmsg:
        return unstall_sendmmsg((int)a, (struct mmsghdr *)b, (unsigned)c, (int)d, true, caller);
#ifdef SYS_sendfile64
    case SYS_sendfile: return unstall_sendfile_narrow((int)a, (int)b, (off_t *)c, (size_t)d, caller);
    case SYS_sendfile64:
#else
    case SYS_sendfile:
#endif
        return unstall_sendfile((int)a, (int)b, (off64_t *)c, (size_t)d, caller);
    case SYS_splice:
        return unstall_splice((int)a, (off64_t *)b, (int)c, (off64_t *)d, (size_t)e, (unsigned)f, true,
                              caller);
    case SYS_read: return READ(false, (size_t)c);
    case SYS_readv: return READ(false, ASKED(buffer, c));
#ifdef SYS_recv
    case SYS_recv:
#endif
    case SYS_recvfrom: {
        struct call call = shim_read_begins((int)a, d & MSG_DONTWAIT);
        result = NEXT();
        return shim_recv_ends(call, result, RECV_ASKED((size_t)c), (int)d);
    }
    case SYS_preadv2: return READ(f & RWF_NOWAIT, ASKED(buffer, c));
    case SYS_recvmsg: return unstall_recvmsg((int)a, (struct msghdr *)b, (int)c, true);
#ifdef SYS_recvmmsg_time64
    case SYS_recvmmsg_time64:
#endif
    case SYS_recvmmsg: {
        struct call call = shim_read_begins((int)a, d & MSG_DONTWAIT);
        result = NEXT();
        return unstall_messages_read(call, (struct mmsghdr *)b, (unsigned)c, (int)d, (int)result);
    }
    case SYS_setsockopt:
        shim_option_setting((int)a, (int)b, (int)c);
        result = NEXT();
        if (result == 0)
            shim_option_set((int)a, (int)b, (int)c, (const void *)d, (socklen_t)e);
        return result;
    case SYS_getsockopt:
        result = NEXT();
        if (result == 0)
            shim_option_got((int)a, (int)b, (int)c, (void *)d, *(const socklen_t *)e);
        return result;
    case SYS_connect: {
        struct call connect = shim_connect_begins((int)a);
        result = NEXT();
        shim_connect_ended(connect, (int)result, buffer, (socklen_t)c);
        return result;
    }
    case SYS_shutdown:
        b = shim_shuts((int)a, (int)b);
        if (b == SHIM_SHUT_LATER)
            return 0;
        break;
    case SYS_close: shim_closing((int)a); break;
#ifdef SYS_dup2
    case SYS_dup2: c = 0; __attribute__((fallthrough));
#endif
    case SYS_dup3:
        if (!(c & ~O_CLOEXEC))
            shim_replacing((int)a, (int)b);
        return shim_duplicated((int)a, (int)NEXT());
    case SYS_dup: return shim_duplicated((int)a, (int)NEXT());
    case SYS_close_range: {
        unsigned first = (unsigned)a;
        if (exports_closes_range(&first, (unsigned)b, (int)c, &barred)) {
            a = (long)first;
            break;
        }
        rights_changed(barred);
        return 0;
    }
#define RIGHT(name, what) case SYS_##name:
#include "rights.def"
        if (n == SYS_prctl)
            return prctl((int)a, b, c, d, e);
        barred = rights_change(n, (unsigned long)a);
        break;
#ifdef SYS_fcntl64
    case SYS_fcntl64:
#endif
    case SYS_fcntl: exports_controls((int)b); return exports_controlled((int)a, (int)b, (int)NEXT());
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
        barred = rights_signal(n == SYS_tkill ? a : b);
        __attribute__((fallthrough));
    case SYS_rt_sigqueueinfo:
    case SYS_pidfd_send_signal:
    case SYS_kill: hold_before_signal(); break;
    case SYS_seccomp:
        if (a != SECCOMP_SET_MODE_FILTER && a != SECCOMP_SET_MODE_STRICT)
            break;
        process_filters(a == SECCOMP_SET_MODE_STRICT);
        result = NEXT();
        process_filtered(result >= 0);
        return result;
    case SYS_exit_group: process_ends(); break;
    case SYS_exit: process_task_exits(); break;
    case SYS_execve:
        process_is_replaced_at(AT_FDCWD, (const char *)a);
        return process_exec_failed((int)NEXT());
    case SYS_execveat:
        process_is_replaced_at((int)a, e & AT_EMPTY_PATH ? NULL : (const char *)b);
        return process_exec_failed((int)NEXT());
    case SYS_io_uring_setup:
        result = NEXT();
        if (result >= 0)
            shim_uring();
        return result;
    default:
        if (may_wait(n, a, b, c, d))
            hold_end_turn(PUSH_WAIT);
    }
    result = NEXT();
    rights_changed(barred);
    return result;
#undef NEXT
#undef OUT
#undef READ
}
