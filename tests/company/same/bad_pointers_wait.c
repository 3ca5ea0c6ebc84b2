/* SPDX-License-Identifier: MIT
 *
 * Waits with pointers that lead nowhere: the kernel's to refuse, or libc's own fault.
 */
#include "same.h"

#include <mqueue.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <time.h>

#define NOWHERE ((void *)nowhere)

static const struct timespec soon = {.tv_nsec = 1000000}, at_once;

/* ---- readiness -------------------------------------------------------- */

CASE(poll_nowhere) {
    SAY(poll(NOWHERE, 1, 1));
    SAY(poll(NOWHERE, 1, 0));
    SAY(poll(NOWHERE, 0, 1));
    SAY(poll(NULL, 1, 1));
    SAY(poll(NOWHERE, 1UL << 60, 1));
    SAY(poll(NOWHERE, 100000000, 1));
}

CASE(poll_that_is_half_there) {
    struct pollfd *fds = (struct pollfd *)(void *)end_of_memory - 1;
    *fds = (struct pollfd){.fd = fd, .events = POLLOUT};
    SAY(poll(fds, 2, 1));
    SAY(poll(fds, 1, 1));
    say("revents %d", fds->revents);
}

CASE(poll_that_cannot_be_written) {
    SAY(poll((struct pollfd *)(void *)read_only, 1, 1));
}

CASE(ppoll_nowhere) {
    struct pollfd out = {.fd = fd, .events = POLLOUT};
    SAY(ppoll(NOWHERE, 1, &soon, NULL));
    SAY(ppoll(&out, 1, NULL, NOWHERE));
    SAY(ppoll(NOWHERE, 1, NULL, NOWHERE));
    SAY(ppoll(&out, 1, &at_once, NULL));
}

CASE(select_nowhere) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    struct timeval moment = {.tv_usec = 1000};
    SAY(select(fd + 1, NOWHERE, NULL, NULL, &moment));
    SAY(select(fd + 1, NULL, NOWHERE, NULL, &moment));
    SAY(select(fd + 1, NULL, NULL, NOWHERE, &moment));
    SAY(select(fd + 1, &set, NOWHERE, NULL, &moment));
    SAY(select(-1, NOWHERE, NULL, NULL, &moment));
    SAY(select(0, NOWHERE, NOWHERE, NOWHERE, &moment));
}

CASE(select_that_cannot_be_written) {
    struct timeval moment = {.tv_usec = 1000};
    SAY(select(fd + 1, NULL, (fd_set *)(void *)read_only, NULL, &moment));
    SAY(select(fd + 1, (fd_set *)(void *)read_only, NULL, NULL, &moment));
}

CASE(select_of_what_ends_with_memory) {
    fd_set *set = (fd_set *)(void *)(end_of_memory - 8);
    struct timeval moment = {.tv_usec = 1000};
    NEED(fd < 64);
    *(uint64_t *)(void *)set = UINT64_C(1) << fd;
    SAY(select(fd + 1, NULL, set, NULL, &moment));
    SAY(select(64, set, NULL, NULL, &moment));
    SAY(select(65, NULL, set, NULL, &moment));
}

CASE(pselect_nowhere) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    SAY(pselect(fd + 1, NULL, NOWHERE, NULL, &soon, NULL));
    SAY(pselect(fd + 1, NULL, &set, NULL, NULL, NOWHERE));
    SAY(pselect(fd + 1, NOWHERE, NULL, NULL, &soon, NOWHERE));
}

CASE(epoll_nowhere) {
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLOUT};
    NEED(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
    SAY(epoll_wait(epoll, NOWHERE, 1, 1));
    SAY(epoll_pwait(epoll, &event, 1, 1, NOWHERE));
    SAY(epoll_pwait2(epoll, &event, 1, NOWHERE, NULL));
    SAY(epoll_pwait2(epoll, NOWHERE, 1, &soon, NULL));
    SAY(epoll_pwait2(epoll, &event, 1, &at_once, NULL));
    SAY(epoll_pwait2(-1, NOWHERE, 1, NOWHERE, NOWHERE));
}

/* ---- sleeps and signals ----------------------------------------------- */

CASE(signals_nowhere) {
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    SAY(sigtimedwait(NOWHERE, &info, &soon));
    SAY(sigtimedwait(&set, &info, NOWHERE));
    SAY(sigtimedwait(&set, &info, &soon));
    SAY(sigtimedwait(&set, &info, &at_once));
    raise(SIGUSR1);
    SAY(sigtimedwait(&set, NULL, NOWHERE));
    raise(SIGUSR1);
    SAY(sigwaitinfo(NOWHERE, &info));
    SAY(sigsuspend(NOWHERE));
}

/* ---- System V --------------------------------------------------------- */

CASE(semop_nowhere) {
    int id = semget(IPC_PRIVATE, 2, 0600);
    NEED(id >= 0);
    SAY(semop(id, NOWHERE, 1));
    SAY(semop(id, NULL, 1));
    SAY(semop(id, NOWHERE, 0));
    SAY(semop(id, NOWHERE, 1 << 20));
    SAY(semop(id, NOWHERE, (size_t)-1));
    SAY(semop(-1, NOWHERE, 1));
    SAY(semop(0x7fffffff, NOWHERE, 1));
    SAY(semtimedop(id, NOWHERE, 1, &soon));
    semctl(id, 0, IPC_RMID);
}

CASE(semop_too_many) {
    struct sembuf up = {0, 1, IPC_NOWAIT};
    int id = semget(IPC_PRIVATE, 2, 0600);
    NEED(id >= 0);
    SAY(semop(id, &up, 1 << 20));
    SAY(semop(id, &up, 1));
    SAY(semop(-1, &up, 1));
    SAY(semtimedop(id, &up, 1, NOWHERE));
    SAY(semtimedop(id, &up, 1 << 20, NOWHERE));
    SAY(semtimedop(id, &up, 1, &at_once));
    say("semaphore %d", semctl(id, 0, GETVAL));
    struct sembuf *last = (struct sembuf *)(void *)end_of_memory - 1;
    *last = up;
    SAY(semop(id, last, 2));
    SAY(semop(id, last, 1));
    say("semaphore %d", semctl(id, 0, GETVAL));
    semctl(id, 0, IPC_RMID);
}

CASE(messages_nowhere) {
    struct {
        long type;
        char text[8];
    } message = {1, "text"};
    int id = msgget(IPC_PRIVATE, 0600);
    NEED(id >= 0);
    SAY(msgsnd(id, NOWHERE, 8, 0));
    SAY(msgsnd(id, NOWHERE, 8, IPC_NOWAIT));
    SAY(msgsnd(id, &message, 8, IPC_NOWAIT));
    SAY(msgrcv(id, NOWHERE, 8, 0, 0));
    SAY(msgrcv(id, NOWHERE, 8, 0, IPC_NOWAIT));
    msgctl(id, IPC_RMID, NULL);
}

CASE(queues_nowhere) {
    char buffer[64];
    SAY(mq_timedsend(-1, NOWHERE, 8, 0, NOWHERE));
    SAY(mq_timedreceive(-1, NOWHERE, 8, NOWHERE, NOWHERE));
    struct mq_attr small = {.mq_maxmsg = 1, .mq_msgsize = sizeof(buffer)};
    char name[40];
    snprintf(name, sizeof(name), "/unstall-same-%d", (int)raw0(SYS_getpid));
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &small);
    if (queue == (mqd_t)-1) {
        say("no message queues here");
        return;
    }
    mq_unlink(name);
    SAY(mq_timedsend(queue, NOWHERE, 8, 0, NOWHERE));
    SAY(mq_send(queue, NOWHERE, 8, 0));
    SAY(mq_send(queue, buffer, 8, 0));
    SAY(mq_timedreceive(queue, NOWHERE, sizeof(buffer), NULL, NULL));
    mq_close(queue);
}

/* ---- an eventfd ------------------------------------------------------- */

CASE(eventfd_nowhere) {
    int event = eventfd(1, 0);
    SAY(eventfd_read(event, NOWHERE));
}
