/* SPDX-License-Identifier: MIT
 *
 * The calls that wait.  The turn of the calling thread ends before the call, unless its arguments exclude a
 * wait.
 *
 * In a turn, two kinds of waits for readiness are first tried with timeout zero: a wait for writability only,
 * while bytes are held (a send buffer full of held bytes waited 200 ms); and a wait on a connection whose
 * messages usually go on after a wait that returns at once.  Without a turn the common ones forward by a
 * jump: what they do in one is a function of its own, because only that one needs a frame.
 */

#include "exports.h"

enum {
    WORD_BITS = 8 * sizeof(long), /* the kernel goes by words of a set */
    SET_BYTES_LIMIT = FD_SETSIZE / 8, /* larger sets are not copied: threads have small stacks */
    NS_A_SECOND = 1000000000,         /* the most for tv_nsec; tv_usec may be more than a second */
    MOST_POLLED = 512                 /* the events of larger arrays are not examined */
};

/* ---- waits for readiness ------------------------------------------------ */

/* A thread without an open turn jumps on. */
#define JUMPS_ON(next, ...)                                              \
    if (LIKELY(self.turn == NULL) && LIKELY(REAL_FOUND(next) != NULL))   \
        return REAL_FOUND(next)(__VA_ARGS__);

/* The body of `call`.  If it `may_wait`, in a turn, and the turn may go on, `try` comes first: the same with
 * timeout zero.  If nothing is ready, the turn ends if it must, and `call` follows. */
#define TRY_FIRST(may_wait, only_writable, try, call)                                       \
    {                                                                                       \
        if (UNLIKELY(self.turn != NULL) && (may_wait) && hold_before_poll(only_writable)) { \
            int ready = try;                                                                \
            hold_asked(ready != 0);                                                         \
            if (ready != 0)                                                                 \
                return ready;                                                               \
            hold_end_turn(PUSH_WAIT);                                                       \
        }                                                                                   \
        return hold_waited(call);                                                           \
    }

/* TRY_FIRST's `may_wait`, for a timeout with tv_sec and `fraction`.  The kernel refuses an unreadable or
 * invalid one, so there is no try with another: the turn ends. */
#define LASTS(t, fraction)                                                      \
    (!hold_looks() || ((t) && (!readable(t, sizeof(*(t))) || (t)->tv_sec < 0 || \
                               (uint64_t)(t)->fraction >= NS_A_SECOND))         \
         ? (hold_end_turn(PUSH_WAIT), false)                                    \
         : !(t) || (t)->tv_sec != 0 || (t)->fraction != 0)

static inline bool polls_writability(const struct pollfd *fds, nfds_t count) {
    if (!hold_looks() || count - 1 >= MOST_POLLED || !readable(fds, count * sizeof(*fds)))
        return false;
    for (nfds_t i = 0; i < count; i++)
        if (fds[i].fd >= 0 && (fds[i].events & (POLLIN | POLLPRI | POLLRDNORM | POLLRDBAND)))
            return false;
    return true;
}

static const struct timespec no_time;

NOINLINE int poll_in_turn(struct pollfd *fds, nfds_t count, int timeout)
    TRY_FIRST(timeout != 0, polls_writability(fds, count), REAL(poll)(fds, count, 0),
              REAL(poll)(fds, count, timeout))
EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout) {
    JUMPS_ON(poll, fds, count, timeout)
    return poll_in_turn(fds, count, timeout);
}
ALSO(__poll, poll)

NOINLINE int ppoll_in_turn(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                           const sigset_t *mask)
    TRY_FIRST(LASTS(timeout, tv_nsec), polls_writability(fds, count),
              REAL(ppoll)(fds, count, &no_time, mask), REAL(ppoll)(fds, count, timeout, mask))
EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
    JUMPS_ON(ppoll, fds, count, timeout, mask)
    return ppoll_in_turn(fds, count, timeout, mask);
}

/* The fortified forms check the array's size; the next definition does that. */
EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size) {
    if (size / sizeof(*fds) < count)
        return REAL(__poll_chk)(fds, count, timeout, size);
    return poll_in_turn(fds, count, timeout);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                       const sigset_t *mask, size_t size) {
    if (size / sizeof(*fds) < count)
        return REAL(__ppoll_chk)(fds, count, timeout, mask, size);
    return ppoll_in_turn(fds, count, timeout, mask);
}

/* select(2) overwrites its sets, so copies of them are put back.  0 also if the sets are too large, or
 * unreadable.  Not inlined: the copies are large. */
NOINLINE int try_select(int count, fd_set *in, fd_set *out, fd_set *except, const sigset_t *mask) {
    fd_set *const given[] = {in, out, except};
    char before[ARRAY_SIZE(given)][SET_BYTES_LIMIT];
    size_t bytes = ((size_t)count + WORD_BITS - 1) / WORD_BITS * sizeof(long);
    struct timeval zero = {0, 0};
    if (count < 0 || bytes > SET_BYTES_LIMIT)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
        if (given[i] && !readable(given[i], bytes))
            return 0;
        if (given[i])
            memcpy(before[i], given[i], bytes);
    }
    int result = mask ? REAL(pselect)(count, in, out, except, &no_time, mask)
                      : REAL(select)(count, in, out, except, &zero);
    for (size_t i = 0; i < ARRAY_SIZE(given); i++)
        if (result == 0 && given[i])
            memcpy(given[i], before[i], bytes);
    return result;
}

NOINLINE int select_in_turn(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
    TRY_FIRST(LASTS(timeout, tv_usec), out && !in && !except, try_select(count, in, out, except, NULL),
              REAL(select)(count, in, out, except, timeout))
EXPORT int select(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout) {
    JUMPS_ON(select, count, in, out, except, timeout)
    return select_in_turn(count, in, out, except, timeout);
}
ALSO(__select, select)

EXPORT int pselect(int count, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
                   const sigset_t *mask)
    TRY_FIRST(LASTS(timeout, tv_nsec), out && !in && !except, try_select(count, in, out, except, mask),
              REAL(pselect)(count, in, out, except, timeout, mask))

NOINLINE int epoll_wait_in_turn(int fd, struct epoll_event *events, int most, int timeout)
    TRY_FIRST(timeout != 0, false, REAL(epoll_wait)(fd, events, most, 0),
              REAL(epoll_wait)(fd, events, most, timeout))
EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int timeout) {
    JUMPS_ON(epoll_wait, fd, events, most, timeout)
    return epoll_wait_in_turn(fd, events, most, timeout);
}

NOINLINE int epoll_pwait_in_turn(int fd, struct epoll_event *events, int most, int timeout,
                                 const sigset_t *mask)
    TRY_FIRST(timeout != 0, false, REAL(epoll_pwait)(fd, events, most, 0, mask),
              REAL(epoll_pwait)(fd, events, most, timeout, mask))
EXPORT int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask) {
    JUMPS_ON(epoll_pwait, fd, events, most, timeout, mask)
    return epoll_pwait_in_turn(fd, events, most, timeout, mask);
}

EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *timeout,
                        const sigset_t *mask)
    TRY_FIRST(LASTS(timeout, tv_nsec), false, REAL(epoll_pwait2)(fd, events, most, &no_time, mask),
              REAL(epoll_pwait2)(fd, events, most, timeout, mask))

/* ---- other waits ---------------------------------------------------------- */

#define WAIT(name, ...) FORWARD(hold_end_turn(PUSH_WAIT), name, __VA_ARGS__)
#define WAIT_UNLESS(condition, name, ...) \
    FORWARD(if (!(condition)) hold_end_turn(PUSH_WAIT), name, __VA_ARGS__)

/* Waits for a thread's end: libc's locks are held meanwhile (start_by_libc). */
#define JOIN(name, ...)                       \
    {                                         \
        hold_end_turn(PUSH_WAIT);             \
        self.joins = true;                    \
        int joined = REAL(name)(__VA_ARGS__); \
        self.joins = false;                   \
        return joined;                        \
    }

/* sleeps */
EXPORT unsigned sleep(unsigned seconds) WAIT(sleep, seconds)
EXPORT int usleep(useconds_t microseconds) WAIT(usleep, microseconds)
EXPORT int nanosleep(const struct timespec *request, struct timespec *rest) WAIT(nanosleep, request, rest)
ALSO(__nanosleep, nanosleep)
EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request, struct timespec *rest)
    WAIT(clock_nanosleep, clock, flags, request, rest)
EXPORT int thrd_sleep(const struct timespec *request, struct timespec *rest) WAIT(thrd_sleep, request, rest)

/* semaphores and threads */
EXPORT int sem_wait(sem_t *sem) WAIT(sem_wait, sem)
EXPORT int sem_timedwait(sem_t *sem, const struct timespec *until) WAIT(sem_timedwait, sem, until)
EXPORT int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
    WAIT(sem_clockwait, sem, clock, until)
EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
    WAIT(pthread_cond_wait, condition, mutex)
EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until)
    WAIT(pthread_cond_timedwait, condition, mutex, until)
EXPORT int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *until)
    WAIT(pthread_cond_clockwait, condition, mutex, clock, until)
EXPORT int cnd_wait(cnd_t *condition, mtx_t *mutex) WAIT(cnd_wait, condition, mutex)
EXPORT int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until)
    WAIT(cnd_timedwait, condition, mutex, until)
EXPORT int pthread_join(pthread_t thread, void **result) JOIN(pthread_join, thread, result)
EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
    JOIN(pthread_timedjoin_np, thread, result, until)
EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
                                const struct timespec *until)
    JOIN(pthread_clockjoin_np, thread, result, clock, until)
EXPORT int thrd_join(thrd_t thread, int *result) JOIN(thrd_join, thread, result)

/* children */
EXPORT pid_t wait(int *status) WAIT(wait, status)
ALSO(__wait, wait)
EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
    WAIT_UNLESS(options & WNOHANG, wait3, status, options, usage)
EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
    WAIT_UNLESS(options & WNOHANG, wait4, pid, status, options, usage)
EXPORT pid_t waitpid(pid_t pid, int *status, int options)
    WAIT_UNLESS(options & WNOHANG, waitpid, pid, status, options)
ALSO(__waitpid, waitpid)
EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
    WAIT_UNLESS(options & WNOHANG, waitid, type, id, info, options)

/* signals */
EXPORT int sigwait(const sigset_t *set, int *number) WAIT(sigwait, set, number)
EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info) WAIT(sigwaitinfo, set, info)
EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
    WAIT_UNLESS(IS_ZERO(timeout, tv_nsec), sigtimedwait, set, info, timeout)
EXPORT int sigsuspend(const sigset_t *mask) WAIT(sigsuspend, mask)
ALSO(__sigsuspend, sigsuspend)
EXPORT int __sigpause(int mask, int is_signal) WAIT(__sigpause, mask, is_signal)
EXPORT int __xpg_sigpause(int number) WAIT(__xpg_sigpause, number)
EXPORT int pause(void) WAIT(pause)

/* <signal.h> gives the name sigpause to __xpg_sigpause; this is the BSD one. */
int bsd_sigpause(int mask) __asm__("sigpause");

EXPORT int bsd_sigpause(int mask) {
    void *next = LOAD(&real_sigpause);
    hold_end_turn(PUSH_WAIT);
    return ((int (*)(int))(next ? next : real_find(&real_sigpause, "sigpause")))(mask);
}

/* locks on files */
EXPORT int flock(int fd, int operation) WAIT_UNLESS(operation & LOCK_NB, flock, fd, operation)
EXPORT int lockf(int fd, int command, off_t length)
    WAIT_UNLESS(command != F_LOCK, lockf, fd, command, length)
#ifdef WITH_TIME64
EXPORT int lockf64(int fd, int command, off64_t length)
    WAIT_UNLESS(command != F_LOCK, lockf64, fd, command, length)
#else
ALSO(lockf64, lockf)
#endif

/* System V and POSIX messages and semaphores */
enum { MOST_OPERATIONS = 500 }; /* SEMOPM, semop(2): the kernel refuses more, as it is set up */

static bool may_wait(const struct sembuf *operations, size_t count) {
    if (!hold_looks() || count > MOST_OPERATIONS ||
        !readable(operations, count * sizeof(*operations)))
        return true;
    for (size_t i = 0; i < count; i++)
        if (!(operations[i].sem_flg & IPC_NOWAIT))
            return true;
    return false;
}

EXPORT int msgsnd(int id, const void *message, size_t size, int flags)
    WAIT_UNLESS(flags & IPC_NOWAIT, msgsnd, id, message, size, flags)
EXPORT ssize_t msgrcv(int id, void *message, size_t size, long type, int flags)
    WAIT_UNLESS(flags & IPC_NOWAIT, msgrcv, id, message, size, type, flags)
EXPORT int semop(int id, struct sembuf *operations, size_t count)
    WAIT_UNLESS(!may_wait(operations, count), semop, id, operations, count)
EXPORT int semtimedop(int id, struct sembuf *operations, size_t count, const struct timespec *timeout)
    WAIT_UNLESS(IS_ZERO(timeout, tv_nsec) || !may_wait(operations, count),
                semtimedop, id, operations, count, timeout)
EXPORT int mq_send(mqd_t queue, const char *message, size_t size, unsigned priority)
    WAIT(mq_send, queue, message, size, priority)
EXPORT ssize_t mq_receive(mqd_t queue, char *message, size_t size, unsigned *priority)
    WAIT(mq_receive, queue, message, size, priority)
EXPORT int mq_timedsend(mqd_t queue, const char *message, size_t size, unsigned priority,
                        const struct timespec *until)
    WAIT(mq_timedsend, queue, message, size, priority, until)
EXPORT ssize_t mq_timedreceive(mqd_t queue, char *message, size_t size, unsigned *priority,
                               const struct timespec *until)
    WAIT(mq_timedreceive, queue, message, size, priority, until)

#ifdef WITH_TIME64
/* ---- the same with 64-bit times ---------------------------------------- */

typedef const struct timespec64 time64;

static time64 no_time64;

EXPORT int __ppoll64(struct pollfd *fds, nfds_t count, time64 *timeout, const sigset_t *mask)
    TRY_FIRST(LASTS(timeout, tv_nsec), polls_writability(fds, count),
              REAL(__ppoll64)(fds, count, &no_time64, mask), REAL(__ppoll64)(fds, count, timeout, mask))

EXPORT int __select64(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval64 *timeout)
    TRY_FIRST(LASTS(timeout, tv_usec), out && !in && !except, try_select(count, in, out, except, NULL),
              REAL(__select64)(count, in, out, except, timeout))

EXPORT int __pselect64(int count, fd_set *in, fd_set *out, fd_set *except, time64 *timeout,
                       const sigset_t *mask)
    TRY_FIRST(LASTS(timeout, tv_nsec), out && !in && !except, try_select(count, in, out, except, mask),
              REAL(__pselect64)(count, in, out, except, timeout, mask))

EXPORT int __epoll_pwait2_time64(int fd, struct epoll_event *events, int most, time64 *timeout,
                                 const sigset_t *mask)
    TRY_FIRST(LASTS(timeout, tv_nsec), false,
              REAL(__epoll_pwait2_time64)(fd, events, most, &no_time64, mask),
              REAL(__epoll_pwait2_time64)(fd, events, most, timeout, mask))

EXPORT int __nanosleep64(time64 *request, struct timespec64 *rest) WAIT(__nanosleep64, request, rest)
EXPORT int __clock_nanosleep_time64(clockid_t clock, int flags, time64 *request, struct timespec64 *rest)
    WAIT(__clock_nanosleep_time64, clock, flags, request, rest)
EXPORT int __thrd_sleep64(time64 *request, struct timespec64 *rest) WAIT(__thrd_sleep64, request, rest)
EXPORT int __sem_timedwait64(sem_t *sem, time64 *until) WAIT(__sem_timedwait64, sem, until)
EXPORT int __sem_clockwait64(sem_t *sem, clockid_t clock, time64 *until)
    WAIT(__sem_clockwait64, sem, clock, until)
EXPORT int __pthread_cond_timedwait64(pthread_cond_t *condition, pthread_mutex_t *mutex, time64 *until)
    WAIT(__pthread_cond_timedwait64, condition, mutex, until)
EXPORT int __pthread_cond_clockwait64(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                      time64 *until)
    WAIT(__pthread_cond_clockwait64, condition, mutex, clock, until)
EXPORT int __cnd_timedwait64(cnd_t *condition, mtx_t *mutex, time64 *until)
    WAIT(__cnd_timedwait64, condition, mutex, until)
EXPORT int __pthread_timedjoin_np64(pthread_t thread, void **result, time64 *until)
    JOIN(__pthread_timedjoin_np64, thread, result, until)
EXPORT int __pthread_clockjoin_np64(pthread_t thread, void **result, clockid_t clock, time64 *until)
    JOIN(__pthread_clockjoin_np64, thread, result, clock, until)
EXPORT pid_t __wait3_time64(int *status, int options, void *usage)
    WAIT_UNLESS(options & WNOHANG, __wait3_time64, status, options, usage)
EXPORT pid_t __wait4_time64(pid_t pid, int *status, int options, void *usage)
    WAIT_UNLESS(options & WNOHANG, __wait4_time64, pid, status, options, usage)
EXPORT int __sigtimedwait64(const sigset_t *set, siginfo_t *info, time64 *timeout)
    WAIT_UNLESS(IS_ZERO(timeout, tv_nsec), __sigtimedwait64, set, info, timeout)
EXPORT int __semtimedop64(int id, struct sembuf *operations, size_t count, time64 *timeout)
    WAIT_UNLESS(IS_ZERO(timeout, tv_nsec) || !may_wait(operations, count),
                __semtimedop64, id, operations, count, timeout)
EXPORT int __mq_timedsend_time64(mqd_t queue, const char *message, size_t size, unsigned priority,
                                 time64 *until)
    WAIT(__mq_timedsend_time64, queue, message, size, priority, until)
EXPORT ssize_t __mq_timedreceive_time64(mqd_t queue, char *message, size_t size, unsigned *priority,
                                        time64 *until)
    WAIT(__mq_timedreceive_time64, queue, message, size, priority, until)
#endif
