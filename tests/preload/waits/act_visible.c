/* SPDX-License-Identifier: MIT
 *
 * Acts that another process can see: earlier writes must not come after them.  SIGURG
 * does nothing by default.
 */
#include "acts.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void group_of_our_own(void) {
    if (setpgid(0, 0) < 0)
        fail("setpgid");
}

static const union sigval value;

ACT(kill, NULL, 0, kill(getpid(), SIGURG))
ACT(killpg, group_of_our_own, 0, killpg(getpgrp(), SIGURG))
ACT(raise, NULL, 0, raise(SIGURG))
ACT(sigqueue, NULL, 0, sigqueue(getpid(), SIGURG, value))
ACT(tgkill, NULL, 0, tgkill(getpid(), gettid(), SIGURG))
ACT(pthread_kill, NULL, 0, pthread_kill(pthread_self(), SIGURG))
ACT(pthread_sigqueue, NULL, 0, pthread_sigqueue(pthread_self(), SIGURG, value))

static void file_named_old(void) {
    int fd = open("old", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        fail("old");
    close(fd);
}

ACT(rename, file_named_old, 0, rename("old", "new"))
ACT(renameat, file_named_old, 0, renameat(AT_FDCWD, "old", AT_FDCWD, "new"))
ACT(renameat2, file_named_old, 0, renameat2(AT_FDCWD, "old", AT_FDCWD, "new", 0))

/* Writes and sends that have room, to any kind of descriptor. */
static int file, other, queue;
static FILE *stream;

static void somewhere_to_write(void) {
    file = scratch_file();
    other = eventfd(0, 0);
    stream = fdopen(scratch_file(), "r+");
    if (other < 0 || !stream || fputs("seen", stream) < 0)
        fail("somewhere to write");
}

static void take_away(void) {
    msgctl(queue, IPC_RMID, NULL);
}

static void message_queue(void) {
    queue = msgget(IPC_PRIVATE, 0600);
    if (queue < 0)
        fail("msgget");
    child_for_a_while(NULL, take_away);
}

static const struct msgbuf message = {.mtype = 1};

static void another_connection(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    other = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) < 0 ||
        connect(other, (struct sockaddr *)&address, length) < 0)
        fail("another connection");
}

static void pair(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        fail("socketpair");
    other = ends[0];
}

static struct iovec vector = {"seen", 4};

ACT_AS(file_write, "write to a file", somewhere_to_write, 0, write(file, "seen", 4))
ACT_AS(file_writev, "writev to a file", somewhere_to_write, 0, writev(file, &vector, 1))
ACT_AS(file_pwritev2, "pwritev2 into a file", somewhere_to_write, 0,
       pwritev2(file, &vector, 1, 0, 0))
ACT_AS(file_sendfile, "sendfile to a file", somewhere_to_write, 0,
       sendfile(file, fileno(stream), &(off_t){0}, 4))
ACT_AS(file_dprintf, "dprintf to a file", somewhere_to_write, 0, dprintf(file, "seen"))
ACT_AS(file_fclose, "fclose of a file", somewhere_to_write, 0, fclose(stream))
ACT_AS(eventfd_room, "eventfd_write with room", somewhere_to_write, 0, eventfd_write(other, 1))
ACT_AS(msgsnd_room, "msgsnd with IPC_NOWAIT", message_queue, 0,
       msgsnd(queue, &message, 1, IPC_NOWAIT))
ACT_AS(socket_room, "send to a socket with room", pair, 0, send(other, "seen", 4, MSG_DONTWAIT))
ACT_AS(other_connection, "send on another connection", another_connection, 0,
       send(other, "seen", 4, 0))
