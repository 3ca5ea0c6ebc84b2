/* SPDX-License-Identifier: MIT
 *
 * Declarations of every name of the surface: libc's headers, then our own declarations of
 * names that they lack (double-underscore forms, names of newer libcs).
 */
#ifndef UNSTALL_NAMES_H
#define UNSTALL_NAMES_H

#include <aio.h>
#include <fcntl.h>
#include <grp.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/fsuid.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

ssize_t __write(int fd, const void *buffer, size_t bytes);
ssize_t __send(int fd, const void *buffer, size_t bytes, int flags);
int __sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
ssize_t __read(int fd, void *buffer, size_t bytes);
ssize_t __read_chk(int fd, void *buffer, size_t bytes, size_t size);
ssize_t __recv(int fd, void *buffer, size_t bytes, int flags);
ssize_t __recv_chk(int fd, void *buffer, size_t bytes, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t bytes, size_t size, int flags,
                       struct sockaddr *address, socklen_t *length);
int __poll(struct pollfd *fds, nfds_t count, int timeout);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t size);
int __select(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout);
int __nanosleep(const struct timespec *request, struct timespec *left);
pid_t __wait(int *status);
pid_t __waitpid(pid_t pid, int *status, int options);
int __sigsuspend(const sigset_t *mask);
int __sigpause(int mask, int is_signal);
int __xpg_sigpause(int number);
int __connect(int fd, const struct sockaddr *address, socklen_t length);
int __close(int fd);
int __dup2(int fd, int copy);
int __fcntl(int fd, int command, ...);
FILE *_IO_fdopen(int fd, const char *mode);
int _IO_fclose(FILE *stream);
FILE *_IO_popen(const char *command, const char *mode);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments);
void __longjmp_chk(jmp_buf environment, int value) __attribute__((noreturn));
pid_t __fork(void);
pid_t __libc_fork(void);
pid_t _Fork(void);
pid_t __vfork(void);
int __clone(int (*run)(void *), void *stack, int flags, void *argument, ...);
int capset(void *header, const void *data);
/* glibc 2.39 */
int pidfd_spawn(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]);
int pidfd_spawnp(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]);

/* The names with 64-bit times (_TIME_BITS=64); on these machines all other names have 32-bit times. */
#if __SIZEOF_POINTER__ == 4
#define WITH_TIME64

struct timespec64 {
    int64_t tv_sec;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    int32_t : 32;
    int32_t tv_nsec;
#else
    int32_t tv_nsec;
    int32_t : 32;
#endif
};

struct timeval64 {
    int64_t tv_sec, tv_usec;
};

ssize_t __sendmsg64(int fd, const struct msghdr *message, int flags);
int __sendmmsg64(int fd, struct mmsghdr *messages, unsigned count, int flags);
ssize_t __recvmsg64(int fd, struct msghdr *message, int flags);
int __recvmmsg64(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec64 *timeout);
int __ppoll64(struct pollfd *fds, nfds_t count, const struct timespec64 *timeout, const sigset_t *mask);
int __select64(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval64 *timeout);
int __pselect64(int count, fd_set *in, fd_set *out, fd_set *except, const struct timespec64 *timeout,
                const sigset_t *mask);
int __epoll_pwait2_time64(int fd, struct epoll_event *events, int most, const struct timespec64 *timeout,
                          const sigset_t *mask);
int __nanosleep64(const struct timespec64 *request, struct timespec64 *left);
int __clock_nanosleep_time64(clockid_t clock, int flags, const struct timespec64 *request,
                             struct timespec64 *left);
int __thrd_sleep64(const struct timespec64 *request, struct timespec64 *left);
int __sem_timedwait64(sem_t *sem, const struct timespec64 *until);
int __sem_clockwait64(sem_t *sem, clockid_t clock, const struct timespec64 *until);
int __pthread_cond_timedwait64(pthread_cond_t *condition, pthread_mutex_t *mutex,
                               const struct timespec64 *until);
int __pthread_cond_clockwait64(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                               const struct timespec64 *until);
int __cnd_timedwait64(cnd_t *condition, mtx_t *mutex, const struct timespec64 *until);
int __pthread_timedjoin_np64(pthread_t thread, void **result, const struct timespec64 *until);
int __pthread_clockjoin_np64(pthread_t thread, void **result, clockid_t clock,
                             const struct timespec64 *until);
pid_t __wait3_time64(int *status, int options, void *usage);
pid_t __wait4_time64(pid_t pid, int *status, int options, void *usage);
int __sigtimedwait64(const sigset_t *set, siginfo_t *info, const struct timespec64 *timeout);
int __semtimedop64(int id, struct sembuf *operations, size_t count, const struct timespec64 *timeout);
int __mq_timedsend_time64(mqd_t queue, const char *message, size_t size, unsigned priority,
                          const struct timespec64 *until);
ssize_t __mq_timedreceive_time64(mqd_t queue, char *message, size_t size, unsigned *priority,
                                 const struct timespec64 *until);
int __aio_suspend_time64(const struct aiocb *const list[], int count, const struct timespec64 *timeout);
int __getsockopt64(int fd, int level, int name, void *value, socklen_t *length);
int __setsockopt64(int fd, int level, int name, const void *value, socklen_t length);
int __fcntl_time64(int fd, int command, ...);
int __prctl_time64(int option, ...);
#endif

#endif
