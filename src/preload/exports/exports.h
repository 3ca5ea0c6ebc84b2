/* SPDX-License-Identifier: MIT
 *
 * For the exports_*.c only.  Code that several exported names or syscall(2) share is called
 * unstall_<name>; libc's other names for the same function are aliases of the exported one.
 */
#ifndef UNSTALL_EXPORTS_H
#define UNSTALL_EXPORTS_H

#include <errno.h>

#include "base.h"
#include "hold.h"
#include "names.h"
#include "process.h"
#include "raw_thread.h"
#include "readable.h"
#include "real.h"
#include "shim.h"

/* type name(parameters): `before`, and then the next definition. */
#define FORWARD(before, type, name, parameters, arguments) \
    type name parameters {                                 \
        before;                                            \
        return REAL(name) arguments;                       \
    }

/* A list without its parentheses. */
#define ALL(...) __VA_ARGS__

/* True for a timeout of zero, of a struct with tv_sec and `fraction`.  An unreadable one is not zero. */
#define IS_ZERO(t, fraction) \
    ((t) && hold_looks() && readable(t, sizeof(*(t))) && (t)->tv_sec == 0 && (t)->fraction == 0)

/* Makes `call`.  If it `failed` because of a limit of tasks (RLIMIT_NPROC, pids.max), ends a thread
 * of ours and makes it again: without us it would have succeeded. */
#define WITH_ROOM(type, call, failed)                   \
    __extension__({                                     \
        type result = (call);                           \
        if (UNLIKELY(failed) && process_makes_room()) { \
            result = (call);                            \
            process_goes_on();                          \
        }                                               \
        result;                                         \
    })

/* `raw`: by syscall(2), which is no cancellation point, and forwarded so. */
int unstall_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, bool raw,
                     uintptr_t caller);
/* pwritev2(2) at offset -1 with flags. */
ssize_t unstall_pwritev2_flags(int fd, const struct iovec *iov, int count, int flags, bool raw,
                               uintptr_t caller);
ssize_t unstall_sendfile(int fd, int from, off64_t *offset, size_t bytes, uintptr_t caller);
#ifdef WITH_TIME64 /* off_t has 32 bits */
ssize_t unstall_sendfile_narrow(int fd, int from, off_t *offset, size_t bytes, uintptr_t caller);
#endif
ssize_t unstall_splice(int from, off64_t *from_offset, int fd, off64_t *offset, size_t bytes,
                       unsigned flags, bool raw, uintptr_t caller);
ssize_t unstall_recvmsg(int fd, struct msghdr *message, int flags, bool raw);
/* After a recvmmsg(2) that returned `got`; returns what the caller gets. */
int unstall_messages_read(struct call call, struct mmsghdr *messages, int got);

/* Before close_range(2), from `*first` on.  True: the own call of the program begins there now.  False:
 * nothing is left to close.  `*barred` is for rights_changed() afterwards. */
bool exports_closes_range(unsigned *first, unsigned last, int flags, uint32_t *barred);
/* After a call that duplicated fd; returns `copy`, its result. */
int exports_copied(int fd, int copy);

/* Before fclose(3), in all its versions. */
void exports_closes(FILE *stream);
/* Before dprintf(3), in all its versions. */
void exports_prints(int fd);

/* Before lio_listio(3), in all its versions. */
void exports_queue_list(int mode, const struct aiocb *const list[], int count);

#define QUEUES_LIST(name, type)                                                                \
    FORWARD(exports_queue_list(mode, (const struct aiocb *const *)list, count), int, name,     \
            (int mode, type *const list[restrict], int count, struct sigevent *event),         \
            (mode, list, count, event))

/* int name(fd, ..., format, ...), whose text goes to `next` as `list`. */
#define PRINTS(name, next, parameters, arguments) \
    int name parameters {                         \
        va_list list;                             \
        exports_prints(fd);                       \
        va_start(list, format);                   \
        int n = REAL(next) arguments;             \
        va_end(list);                             \
        return n;                                 \
    }

/* posix_spawn(3), in all its versions, and pidfd_spawn(3), which gives a descriptor for the number. */
#define SPAWNS(name)                                                                              \
    int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,             \
             const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]) { \
        process_runs_program();                                                                   \
        return WITH_ROOM(int, REAL(name)(pid, path, actions, attributes, argv, environment),      \
                         result == EAGAIN);                                                       \
    }

/* popen(3), in all its versions. */
#define OPENS_PIPE(name)                                                     \
    FILE *name(const char *command, const char *mode) {                      \
        process_runs_program();                                              \
        return WITH_ROOM(FILE *, REAL(name)(command, mode), !result);        \
    }

/* int name(parameters), which makes a thread.  pthread_create(3) in all its versions. */
#define MAKES_THREAD(name, parameters, arguments, failed)          \
    int name parameters {                                          \
        process_gets_threads();                                    \
        raw_thread_program_makes_one(true);                        \
        int made = WITH_ROOM(int, REAL(name) arguments, failed);   \
        raw_thread_program_makes_one(false);                       \
        return made;                                               \
    }

#define CREATES(name)                                                                        \
    MAKES_THREAD(name, (pthread_t * thread, const pthread_attr_t *attributes,                \
                        void *(*start)(void *), void *argument),                             \
                 (thread, attributes, start, argument), result == EAGAIN)

/* void name(parameters), which does not return. */
#define ENDS(before, name, parameters, arguments) \
    void name parameters {                        \
        before;                                   \
        REAL(name) arguments;                     \
        __builtin_unreachable();                  \
    }

/* Defines fcntl and its other names; where off_t has 32 bits, these are four functions. */
#define CONTROLS(name)                                                             \
    int name(int fd, int command, ...) {                                           \
        va_list arguments;                                                         \
        va_start(arguments, command);                                              \
        void *argument = va_arg(arguments, void *);                                \
        va_end(arguments);                                                         \
        exports_controls(command);                                                 \
        return exports_controlled(fd, command, REAL(name)(fd, command, argument)); \
    }

/* Before fcntl(2). */
static inline void exports_controls(int command) {
    switch (command) {
#if F_SETLKW64 != F_SETLKW
    case F_SETLKW64:
#endif
    case F_SETLKW:
    case F_OFD_SETLKW: hold_end_turn(PUSH_WAIT);
    }
}

/* After it. */
static inline int exports_controlled(int fd, int command, int result) {
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? exports_copied(fd, result) : result;
}

/* `other` is one more name of `name` (fcntl and fcntl64 are one address). */
#define ALSO(other, name) extern __typeof__(name) other EXPORT __attribute__((alias(#name)));

#endif
