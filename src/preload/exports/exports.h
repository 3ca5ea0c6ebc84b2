/* SPDX-License-Identifier: MIT
 *
 * For the exports_*.c and jump.S.  Code that several exported names or syscall(2) share is called
 * unstall_<name>; libc's other names for the same function are aliases of the exported one.
 */
#ifndef UNSTALL_EXPORTS_H
#define UNSTALL_EXPORTS_H

/* The numbers of syscall(2) that we handle, in unstall_syscalls.  1: unstall_syscall() makes the call.
 * SYSCALL_WAITS: it does so while the thread has an open turn.  SYSCALL_BEGINS: unstall_syscall_begins() runs
 * before the call.  jump.S forwards all other numbers. */
#define SYSCALL_NUMBERS 512
#define SYSCALL_WAITS   2
#define SYSCALL_BEGINS  3

#ifndef __ASSEMBLER__

#include "process.h"
#include "raw_thread.h"
#include "readable.h"
#include "real.h"
#include "shim.h"

/* libc's headers lack some of the names, and then the definition is the only declaration. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* The body of an exported name: `before`, and then the next definition. */
#define FORWARD(before, name, ...)      \
    {                                   \
        before;                         \
        return REAL(name)(__VA_ARGS__); \
    }

/* The body of one that does not return. */
#define END(before, name, ...)   \
    {                            \
        before;                  \
        REAL(name)(__VA_ARGS__); \
        __builtin_unreachable(); \
    }

/* `other` is one more name of `name` (fcntl and fcntl64 are one address). */
#define ALSO(other, name) extern __typeof__(name) other EXPORT __attribute__((alias(#name)));

/* True for a timeout of zero, of a struct with tv_sec and `fraction`.  An unreadable one is not zero. */
#define IS_ZERO(t, fraction) \
    ((t) && hold_looks() && readable(t, sizeof(*(t))) && (t)->tv_sec == 0 && (t)->fraction == 0)

/* Makes `call`.  If it `failed` because of a limit of tasks (RLIMIT_NPROC, pids.max), ends a thread
 * of ours and makes it again: without us it would have succeeded. */
#define WITH_ROOM(type, call, failed)                           \
    __extension__({                                             \
        type result = (call);                                   \
        if (UNLIKELY(failed) && process_stops_window_for_task()) { \
            result = (call);                                    \
            process_restarts_window();                                   \
        }                                                       \
        result;                                                 \
    })

/* `raw`: by syscall(2), which is no cancellation point, and forwarded so. */
int unstall_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, bool raw,
                     uintptr_t caller);
/* At offset -1. */
ssize_t unstall_pwritev2(int fd, const struct iovec *iov, int count, int flags, bool raw, uintptr_t caller);
ssize_t unstall_sendfile(int fd, int from, off64_t *offset, size_t bytes, uintptr_t caller);
/* The same where off_t has 32 bits. */
ssize_t unstall_sendfile_narrow(int fd, int from, off_t *offset, size_t bytes, uintptr_t caller);
ssize_t unstall_splice(int from, off64_t *from_offset, int fd, off64_t *offset, size_t bytes,
                       unsigned flags, bool raw, uintptr_t caller);
/* What a read into a vector has asked for, after it returned `got` to `call`: the kernel has followed it. */
#define ASKED(iov, count) (got >= 0 && call.conn ? exports_vector_bytes(iov, (size_t)(count)) : 0)
#define RECV_ASKED(bytes) ((bytes) ? (bytes) : RECV_OF_NONE)
size_t exports_vector_bytes(const struct iovec *iov, size_t count);
ssize_t unstall_recvmsg(int fd, struct msghdr *message, int flags, bool raw);
/* After a recvmmsg(2) that returned `got`; returns what the caller gets. */
int unstall_messages_read(struct call call, struct mmsghdr *messages, unsigned count, int flags, int got);

/* Before close_range(2), from `*first` on.  True: the own call of the program begins there now.  False:
 * nothing is left to close.  `*barred` is for rights_changed() afterwards. */
bool exports_closes_range(unsigned *first, unsigned last, int flags, uint32_t *barred);

/* Before fcntl(2), and after it. */
void exports_controls(int command);
int exports_controlled(int fd, int command, int result);

/* After fdopen(3); returns `stream`, its result. */
FILE *exports_opened(FILE *stream, int fd);
/* Before fclose(3). */
void exports_closes(FILE *stream);
/* dprintf(3): before it, and instead of it. */
bool exports_prints(int fd);
int exports_prints_behind(int fd, const char *format, va_list arguments);
/* Before lio_listio(3); `list` has pointers to struct aiocb or aiocb64. */
void exports_queues(int mode, const void *list, int count);

/* ---- bodies of names with several versions -------------------------------- */

#define CONTROL(name)                                                              \
    {                                                                              \
        va_list list;                                                              \
        va_start(list, command);                                                   \
        void *argument = va_arg(list, void *);                                     \
        va_end(list);                                                              \
        exports_controls(command);                                                 \
        return exports_controlled(fd, command, REAL(name)(fd, command, argument)); \
    }

#define PRINTED(next, ...) \
    (exports_prints(fd) ? REAL(next)(__VA_ARGS__) : exports_prints_behind(fd, format, arguments))

/* The body of a dprintf(3), by the vdprintf(3) `next`. */
#define PRINT(next, ...)                         \
    {                                            \
        va_list arguments;                       \
        va_start(arguments, format);             \
        int printed = PRINTED(next, __VA_ARGS__); \
        va_end(arguments);                       \
        return printed;                          \
    }

#define SPAWN(name, id, path)                                                               \
    {                                                                                       \
        process_runs_program();                                                             \
        return WITH_ROOM(int, REAL(name)(id, path, actions, attributes, argv, environment), \
                         result == EAGAIN);                                                 \
    }

#define OPEN_PIPE(name)                                               \
    {                                                                 \
        process_runs_program();                                       \
        return WITH_ROOM(FILE *, REAL(name)(command, mode), !result); \
    }

/* A thread is made; it `failed` if there are too many. */
#define CREATE(failed, name, ...)                                   \
    {                                                               \
        process_gets_threads();                                     \
        raw_thread_program_creates();                                    \
        int made = WITH_ROOM(int, REAL(name)(__VA_ARGS__), failed); \
        raw_thread_program_created();                                      \
        return made;                                                \
    }

#endif
#endif
