/* SPDX-License-Identifier: MIT
 *
 * Waits that pass by the library, which only the window can end; and calls that
 * look like waits and are none, between the two halves of one turn.
 */
#include "acts.h"

#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/uio.h>
#include <sys/wait.h>

static FILE *silent;
static char line[64];

static void silent_pipe(void) {
    int ends[2];
    if (pipe(ends) < 0)
        fail("pipe");
    silent = fdopen(ends[0], "r");
    if (!silent)
        fail("fdopen");
}

static const struct timespec span = {.tv_nsec = WAIT_MS * 1000000};

static long wait_on_futex(void) {
    int word = 0;
    return raw4(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span);
}

static long compute(void) {
    long steps = 0;
    for (int64_t end = now_ns() + WAIT_MS * 1000000; now_ns() < end;)
        steps++;
    return steps;
}

ACT_AS(fgets, "fgets on a pipe", silent_pipe, ALARM, fgets(line, sizeof line, silent) != NULL)
ACT_AS(futex, "a futex", NULL, 0, wait_on_futex())
ACT_AS(compute, "a computation", NULL, 0, compute())

/* Each write comes before the window of the one before it has ended. */
static long trickle(int connection) {
    for (int i = 0; i < 3; i++) {
        raw_sleep_ms(WAIT_MS / 5);
        send(connection, "more", 4, 0);
    }
    return 0;
}

ACT_AS(trickle, "a trickle of writes", NULL, 0, trickle(connection))

/* These are no calls at all. */
ACT_AS(thread_returns, "a thread's return", NULL, IN_THREAD | RETURNS, 0)
ACT_AS(main_returns, "the return from main", NULL, RETURNS, 0)

static int file, flags, queue, semaphores, child;
static aio_context_t requests;

static void take_away(void) {
    msgctl(queue, IPC_RMID, NULL);
    semctl(semaphores, 0, IPC_RMID);
}

static void what_is_asked(void) {
    file = scratch_file();
    flags = epoll_create1(EPOLL_CLOEXEC);
    queue = msgget(IPC_PRIVATE, 0600);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    if (file < 0 || flags < 0 || queue < 0 || semaphores < 0)
        fail("what is asked");
    child = child_for_a_while(NULL, take_away);
}

static void no_requests(void) {
    if (syscall(SYS_io_setup, 1, &requests) < 0)
        fail("io_setup");
}

static fd_set *only(fd_set *set, int fd) {
    FD_ZERO(set);
    FD_SET(fd, set);
    return set;
}

/* the second half of the turn, then a wait that ends it */
#define KEEP(id, title, prepare, call)                 \
    ACT_AS(keep_##id, "whole over " title, prepare, 0, \
           ((void)(call), send(connection, "and more", 8, 0), poll(NULL, 0, WAIT_MS)))

KEEP(nothing, "nothing", NULL, 0)
KEEP(poll, "poll with timeout 0", NULL,
     poll(&(struct pollfd){.fd = connection, .events = POLLIN}, 1, 0))
KEEP(select, "select with timeout 0", NULL,
     select(connection + 1, only(&(fd_set){0}, connection), NULL, NULL, &(struct timeval){0}))
KEEP(epoll, "epoll_wait with timeout 0", what_is_asked,
     epoll_wait(flags, &(struct epoll_event){0}, 1, 0))
KEEP(writable, "poll for room", NULL,
     poll(&(struct pollfd){.fd = connection, .events = POLLOUT}, 1, -1))
KEEP(selectable, "select for room", NULL,
     select(connection + 1, NULL, only(&(fd_set){0}, connection), NULL, NULL))
KEEP(file, "read of a file", what_is_asked, read(file, line, sizeof line))
KEEP(readv, "readv of a file", what_is_asked, readv(file, &(struct iovec){line, sizeof line}, 1))
KEEP(writing, "write to a file", what_is_asked, write(file, line, sizeof line))
KEEP(recv, "recv with MSG_DONTWAIT", NULL, recv(connection, line, sizeof line, MSG_DONTWAIT))
KEEP(option, "getsockopt", NULL,
     getsockopt(connection, SOL_SOCKET, SO_TYPE, line, &(socklen_t){sizeof(int)}))
KEEP(flags, "fcntl F_GETFL", NULL, fcntl(connection, F_GETFL))
KEEP(name, "prctl PR_GET_NAME", NULL, prctl(PR_GET_NAME, line))
KEEP(ppoll, "ppoll with timeout 0", NULL,
     ppoll(&(struct pollfd){.fd = connection, .events = POLLIN}, 1, &(struct timespec){0}, NULL))
KEEP(pselect, "pselect with timeout 0", NULL,
     pselect(connection + 1, only(&(fd_set){0}, connection), NULL, NULL, &(struct timespec){0},
             NULL))
KEEP(epoll_pwait, "epoll_pwait with timeout 0", what_is_asked,
     epoll_pwait(flags, &(struct epoll_event){0}, 1, 0, NULL))
KEEP(epoll_pwait2, "epoll_pwait2 with timeout 0", what_is_asked,
     epoll_pwait2(flags, &(struct epoll_event){0}, 1, &(struct timespec){0}, NULL))
KEEP(waitid, "waitid with WNOHANG", what_is_asked,
     waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG))
KEEP(sigtimedwait, "sigtimedwait with timeout 0", NULL,
     sigtimedwait(&(sigset_t){0}, NULL, &(struct timespec){0}))
KEEP(semtimedop, "semtimedop with IPC_NOWAIT", what_is_asked,
     semtimedop(semaphores, &(struct sembuf){.sem_op = -1, .sem_flg = IPC_NOWAIT}, 1, NULL))
KEEP(lockf, "lockf with F_TLOCK", what_is_asked, lockf(file, F_TLOCK, 0))
KEEP(setlk, "fcntl F_SETLK", what_is_asked,
     fcntl(file, F_SETLK, &(struct flock){.l_type = F_WRLCK}))
/* the habit that the connection has learned (see `polling`) */
KEEP(ready, "poll that returns at once", NULL,
     poll(&(struct pollfd){.fd = connection, .events = POLLIN | POLLOUT}, 1, -1))
KEEP(child, "waitpid with WNOHANG", what_is_asked, waitpid(child, NULL, WNOHANG))
KEEP(message, "msgrcv with IPC_NOWAIT", what_is_asked,
     msgrcv(queue, &(struct msgbuf){0}, 1, 0, IPC_NOWAIT))
KEEP(semaphore, "semop with IPC_NOWAIT", what_is_asked,
     semop(semaphores, &(struct sembuf){.sem_op = -1, .sem_flg = IPC_NOWAIT}, 1))
KEEP(lock, "flock with LOCK_NB", what_is_asked, flock(file, LOCK_EX | LOCK_NB))
KEEP(wake, "syscall SYS_futex FUTEX_WAKE", NULL,
     syscall(SYS_futex, &(int){0}, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0))
KEEP(epoll_by_syscall, "syscall SYS_epoll_pwait with timeout 0", what_is_asked,
     syscall(SYS_epoll_pwait, flags, &(struct epoll_event){0}, 1, 0, NULL, 0))
KEEP(wait4_by_syscall, "syscall SYS_wait4 with WNOHANG", what_is_asked,
     syscall(SYS_wait4, child, NULL, WNOHANG, NULL))
KEEP(waitid_by_syscall, "syscall SYS_waitid with WNOHANG", what_is_asked,
     syscall(SYS_waitid, P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG, NULL))
KEEP(getevents, "syscall SYS_io_getevents of at least none", no_requests,
     syscall(SYS_io_getevents, requests, 0L, 1L, &(struct io_event){0}, NULL))
