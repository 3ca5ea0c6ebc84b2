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

#endif
