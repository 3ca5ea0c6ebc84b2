/* SPDX-License-Identifier: MIT
 *
 * All other waits: the turn of the calling thread ends before the call, unless its
 * arguments exclude a wait.
 */
#include "exports.h"

#define WAITS() hold_end_turn(PUSH_WAIT)

#define WAIT(type, name, parameters, arguments) EXPORT FORWARD(WAITS(), type, name, parameters, arguments)
#define WAIT_UNLESS(condition, type, name, parameters, arguments) \
    EXPORT FORWARD(if (!(condition)) WAITS(), type, name, parameters, arguments)
/* int name(parameters), which waits for a thread's end: libc's locks are held meanwhile (start_by_libc). */
#define JOIN(name, parameters, arguments)  \
    EXPORT int name parameters {           \
        WAITS();                           \
        self.joins = true;                 \
        int joined = REAL(name) arguments; \
        self.joins = false;                \
        return joined;                     \
    }

/* sleeps */
WAIT(unsigned, sleep, (unsigned seconds), (seconds))
WAIT(int, usleep, (useconds_t microseconds), (microseconds))
WAIT(int, nanosleep, (const struct timespec *request, struct timespec *left), (request, left))
ALSO(__nanosleep, nanosleep)
WAIT(int, clock_nanosleep,
     (clockid_t clock, int flags, const struct timespec *request, struct timespec *left),
     (clock, flags, request, left))
WAIT(int, thrd_sleep, (const struct timespec *request, struct timespec *left), (request, left))

/* semaphores and threads */
WAIT(int, sem_wait, (sem_t * sem), (sem))
WAIT(int, sem_timedwait, (sem_t * sem, const struct timespec *until), (sem, until))
WAIT(int, sem_clockwait, (sem_t * sem, clockid_t clock, const struct timespec *until), (sem, clock, until))
WAIT(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex))
WAIT(int, pthread_cond_timedwait,
     (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until),
     (condition, mutex, until))
WAIT(int, pthread_cond_clockwait,
     (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until),
     (condition, mutex, clock, until))
WAIT(int, cnd_wait, (cnd_t * condition, mtx_t *mutex), (condition, mutex))
WAIT(int, cnd_timedwait, (cnd_t * condition, mtx_t *mutex, const struct timespec *until),
     (condition, mutex, until))
JOIN(pthread_join, (pthread_t thread, void **result), (thread, result))
JOIN(pthread_timedjoin_np, (pthread_t thread, void **result, const struct timespec *until),
     (thread, result, until))
JOIN(pthread_clockjoin_np, (pthread_t thread, void **result, clockid_t clock, const struct timespec *until),
     (thread, result, clock, until))
JOIN(thrd_join, (thrd_t thread, int *result), (thread, result))

/* children */
WAIT(pid_t, wait, (int *status), (status))
ALSO(__wait, wait)
WAIT_UNLESS(options &WNOHANG, pid_t, wait3, (int *status, int options, struct rusage *usage),
            (status, options, usage))
WAIT_UNLESS(options &WNOHANG, pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage),
            (pid, status, options, usage))
WAIT_UNLESS(options &WNOHANG, pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
ALSO(__waitpid, waitpid)
WAIT_UNLESS(options &WNOHANG, int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options),
            (type, id, info, options))

/* signals */
WAIT(int, sigwait, (const sigset_t *set, int *number), (set, number))
WAIT(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info))
WAIT_UNLESS(IS_ZERO(timeout, tv_nsec), int, sigtimedwait,
            (const sigset_t *set, siginfo_t *info, const struct timespec *timeout), (set, info, timeout))
WAIT(int, sigsuspend, (const sigset_t *mask), (mask))
ALSO(__sigsuspend, sigsuspend)
WAIT(int, __sigpause, (int mask, int is_signal), (mask, is_signal))
WAIT(int, __xpg_sigpause, (int number), (number))
WAIT(int, pause, (void), ())

/* <signal.h> gives the name sigpause to __xpg_sigpause; this is the BSD one. */
int bsd_sigpause(int mask) __asm__("sigpause");

EXPORT int bsd_sigpause(int mask) {
    void *next = LOAD(&real_sigpause);
    WAITS();
    return ((int (*)(int))(next ? next : real_find(&real_sigpause, "sigpause")))(mask);
}

/* locks on files */
WAIT_UNLESS(operation &LOCK_NB, int, flock, (int fd, int operation), (fd, operation))
WAIT_UNLESS(command != F_LOCK, int, lockf, (int fd, int command, off_t length), (fd, command, length))
#ifdef WITH_TIME64
WAIT_UNLESS(command != F_LOCK, int, lockf64, (int fd, int command, off64_t length), (fd, command, length))
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

WAIT_UNLESS(flags &IPC_NOWAIT, int, msgsnd, (int id, const void *message, size_t size, int flags),
             (id, message, size, flags))
WAIT_UNLESS(flags &IPC_NOWAIT, ssize_t, msgrcv, (int id, void *message, size_t size, long type, int flags),
            (id, message, size, type, flags))
WAIT_UNLESS(!may_wait(operations, count), int, semop, (int id, struct sembuf *operations, size_t count),
             (id, operations, count))
WAIT_UNLESS(IS_ZERO(timeout, tv_nsec) || !may_wait(operations, count), int, semtimedop,
             (int id, struct sembuf *operations, size_t count, const struct timespec *timeout),
             (id, operations, count, timeout))
WAIT(int, mq_send, (mqd_t queue, const char *message, size_t size, unsigned priority),
     (queue, message, size, priority))
WAIT(ssize_t, mq_receive, (mqd_t queue, char *message, size_t size, unsigned *priority),
     (queue, message, size, priority))
WAIT(int, mq_timedsend,
     (mqd_t queue, const char *message, size_t size, unsigned priority, const struct timespec *until),
     (queue, message, size, priority, until))
WAIT(ssize_t, mq_timedreceive,
     (mqd_t queue, char *message, size_t size, unsigned *priority, const struct timespec *until),
     (queue, message, size, priority, until))

#ifdef WITH_TIME64
/* ---- the same with 64-bit times ---------------------------------------- */

typedef const struct timespec64 time64;

WAIT(int, __nanosleep64, (time64 * request, struct timespec64 *left), (request, left))
WAIT(int, __clock_nanosleep_time64, (clockid_t clock, int flags, time64 *request, struct timespec64 *left),
     (clock, flags, request, left))
WAIT(int, __thrd_sleep64, (time64 * request, struct timespec64 *left), (request, left))
WAIT(int, __sem_timedwait64, (sem_t * sem, time64 *until), (sem, until))
WAIT(int, __sem_clockwait64, (sem_t * sem, clockid_t clock, time64 *until), (sem, clock, until))
WAIT(int, __pthread_cond_timedwait64, (pthread_cond_t * condition, pthread_mutex_t *mutex, time64 *until),
     (condition, mutex, until))
WAIT(int, __pthread_cond_clockwait64,
     (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock, time64 *until),
     (condition, mutex, clock, until))
WAIT(int, __cnd_timedwait64, (cnd_t * condition, mtx_t *mutex, time64 *until), (condition, mutex, until))
JOIN(__pthread_timedjoin_np64, (pthread_t thread, void **result, time64 *until),
     (thread, result, until))
JOIN(__pthread_clockjoin_np64, (pthread_t thread, void **result, clockid_t clock, time64 *until),
     (thread, result, clock, until))
WAIT_UNLESS(options &WNOHANG, pid_t, __wait3_time64, (int *status, int options, void *usage),
            (status, options, usage))
WAIT_UNLESS(options &WNOHANG, pid_t, __wait4_time64, (pid_t pid, int *status, int options, void *usage),
            (pid, status, options, usage))
WAIT_UNLESS(IS_ZERO(timeout, tv_nsec), int, __sigtimedwait64,
            (const sigset_t *set, siginfo_t *info, time64 *timeout), (set, info, timeout))
WAIT_UNLESS(IS_ZERO(timeout, tv_nsec) || !may_wait(operations, count), int, __semtimedop64,
             (int id, struct sembuf *operations, size_t count, time64 *timeout),
             (id, operations, count, timeout))
WAIT(int, __mq_timedsend_time64,
     (mqd_t queue, const char *message, size_t size, unsigned priority, time64 *until),
     (queue, message, size, priority, until))
WAIT(ssize_t, __mq_timedreceive_time64,
     (mqd_t queue, char *message, size_t size, unsigned *priority, time64 *until),
     (queue, message, size, priority, until))
#endif
