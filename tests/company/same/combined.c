/* SPDX-License-Identifier: MIT
 *
 * Other ways of sending, other owners of a connection, its end and kinds of connection, in the midst of
 * small writes.
 */
#include "combined.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

static int file_of(long bytes) {
    int file = (int)raw2(SYS_memfd_create, "file", 0);
    for (long i = 0; i < bytes; i++)
        raw3(SYS_write, file, "abcdefghijklmnop" + i % 16, 1);
    return file;
}

/* ---- other owners -------------------------------------------------------- */

CASE(given_away_by_scm_rights) {
    int ends[2];
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(fd);
        int theirs = passed(ends[1], false);
        NEED(write(theirs, "given", 5) == 5);
        NEED(write(theirs, "away", 4) == 4);
        _exit(0);
    }
    SAY(write(fd, "mine", 4));
    SAY(write(fd, "still", 5));
    SAY(pass(ends[0], fd));
    wait_unseen(child);
    SAY(write(fd, "back", 4));
}

CASE(a_child_takes_it_by_pidfd) {
    SAY(write(fd, "mine", 4));
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        long handle = syscall(SYS_pidfd_open, getppid(), 0);
        int theirs = (int)syscall(SYS_pidfd_getfd, handle, fd, 0);
        NEED(theirs >= 0 && write(theirs, "taken", 5) == 5 && write(theirs, "twice", 5) == 5);
        _exit(0);
    }
    wait_for(child);
    SAY(write(fd, "back", 4));
}

CASE(dups_in_turn) {
    int copy = dup(fd), other = fcntl(fd, F_DUPFD_CLOEXEC, 60), third = dup3(fd, 70, O_CLOEXEC);
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "a", 1));
        SAY(write(copy, "bb", 2));
        SAY(send(other, "ccc", 3, 0));
        SAY(write(third, "dddd", 4));
    }
    close(fd);
    SAY(write(copy, "e", 1));
    SAY(write(other, "ff", 2));
    SAY(dup2(third, fd));
    close(third);
    SAY(write(fd, "ggg", 3));
    close(copy);
    close(other);
}

/* ---- the connection's end -------------------------------------------------- */

CASE(half_closed_then_answered) {
    char answer[100];
    SAY(write(fd, "a question", 10));
    SAY(write(fd, "?", 1));
    SAY(shutdown(fd, SHUT_WR));
    peer_tells();
    peer_answers("an answer");
    SAY(read(fd, answer, sizeof answer));
    signal(SIGPIPE, SIG_IGN);
    SAY(write(fd, "too late", 8));
    SAY(shutdown(fd, SHUT_RDWR));
    SAY(shutdown(fd, SHUT_WR));
}

CASE(the_reading_side_closed_first) {
    char answer[100];
    SAY(write(fd, "one", 3));
    SAY(shutdown(fd, SHUT_RD));
    SAY(read(fd, answer, sizeof answer));
    SAY(write(fd, "two", 3));
    SAY(write(fd, "three", 5));
    SAY(shutdown(fd, SHUT_WR));
}

CASE(closed_by_a_reset) {
    struct linger at_once = {1, 0};
    SAY(write(fd, "one", 3));
    SAY(write(fd, "two", 3));
    /* the reset drops bytes that Nagle's algorithm has kept back */
    SAY(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)));
    SAY(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
    SAY(close(fd));
}

CASE(lingering_close) {
    struct linger seconds = {1, 2};
    SAY(setsockopt(fd, SOL_SOCKET, SO_LINGER, &seconds, sizeof seconds));
    SAY(write(fd, "one", 3));
    SAY(write(fd, "two", 3));
    SAY(close(fd));
}

/* ---- other ways of sending --------------------------------------------------- */

CASE(the_place_of_an_urgent_byte) {
    SAY(write(fd, "before", 6));
    SAY(write(fd, "still", 5));
    SAY(send(fd, "ab!", 3, MSG_OOB));
    SAY(write(fd, "behind", 6));
    struct pollfd urgent = {peer, POLLPRI, 0};
    NEED(raw3(SYS_poll, &urgent, 1, 3000) == 1);
    char byte = 0;
    say("urgent: %ld %c", raw6(SYS_recvfrom, peer, (long)&byte, 1, MSG_OOB, 0, 0), byte);
    int before = 0, mark = 0;
    for (;;) {
        raw3(SYS_ioctl, peer, SIOCATMARK, &mark);
        if (mark || raw3(SYS_read, peer, &byte, 1) != 1)
            break;
        before++;
    }
    say("%d before it", before);
}

CASE(files_between_small_writes) {
    int file = file_of(5000);
    for (int i = 0; i < 3; i++) {
        off_t offset = 0;
        SAY(write(fd, "head", 4));
        SAY(sendfile(fd, file, &offset, 10));
        SAY(write(fd, "tail", 4));
        SAY(sendfile(fd, file, &offset, 4000));
        SAY(sendfile(fd, file, &offset, 0));
        SAY(write(fd, "end", 3));
    }
}

CASE(pipes_between_small_writes) {
    int ends[2];
    struct iovec part = {"from memory", 11};
    NEED(pipe(ends) == 0);
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "head", 4));
        SAY(vmsplice(ends[1], &part, 1, 0));
        SAY(splice(ends[0], NULL, fd, NULL, 11, SPLICE_F_MORE));
        SAY(write(fd, "tail", 4));
        SAY(vmsplice(ends[1], &part, 1, SPLICE_F_GIFT));
        SAY(splice(ends[0], NULL, fd, NULL, 11, 0));
    }
}

CASE(an_echo_by_splice) {
    int ends[2];
    NEED(pipe(ends) == 0);
    for (int i = 0; i < 4; i++) {
        SAY(write(fd, "echo: ", 6));
        peer_answers("to be echoed");
        SAY(splice(fd, NULL, ends[1], NULL, 12, 0));
        SAY(splice(ends[0], NULL, fd, NULL, 12, 0));
        SAY(write(fd, "\n", 1));
    }
}

CASE(every_form_of_write) {
    struct iovec parts[2] = {{"one", 3}, {"two", 3}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    struct mmsghdr several[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
    SAY(write(fd, "write", 5));
    SAY(writev(fd, parts, 2));
    SAY(send(fd, "send", 4, MSG_DONTWAIT));
    SAY(send(fd, "end", 3, MSG_EOR | MSG_NOSIGNAL));
    SAY(sendto(fd, "sendto", 6, 0, NULL, 0));
    SAY(sendmsg(fd, &message, 0));
    SAY(sendmmsg(fd, several, 2, 0));
    SAY(pwritev2(fd, parts, 2, -1, 0));
    SAY(pwrite(fd, "x", 1, 0));
    SAY(write(fd, "", 0));
    SAY(send(fd, "", 0, MSG_MORE));
    SAY(dprintf(fd, "%s %d\n", "dprintf", 7));
    SAY(send(fd, "more", 4, MSG_MORE));
    SAY(syscall(SYS_write, fd, "raw", 3));
    SAY(send(fd, "more to come", 12, MSG_MORE));
}

CASE(stdio_and_write_in_turn) {
    FILE *stream = fdopen(dup(fd), "w");
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "write", 5));
        SAY(fprintf(stream, "line %d\n", i));
        SAY(fflush(stream));
        SAY(write(fd, "again", 5));
    }
    SAY(fclose(stream));
}

CASE(notified_of_bytes_not_copied) {
    int one = 1;
    static char large[20000]; /* the first could be held */
    SAY(setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one));
    for (int i = 0; i < 4; i++) {
        SAY(send(fd, large, i % 2 ? sizeof large : 100, MSG_ZEROCOPY));
        SAY(write(fd, "small", 5));
    }
    acknowledge_at_once();
    peer_takes(2 * (100 + sizeof large) + 20);
    unsigned told = 0;
    for (int i = 0; i < 100 && told != 3; i++) {
        union {
            char bytes[200];
            struct cmsghdr aligned;
        } control;
        struct msghdr got = {.msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
        poll(NULL, 0, 10);
        if (recvmsg(fd, &got, MSG_ERRQUEUE) < 0)
            continue;
        struct sock_extended_err error;
        memcpy(&error, CMSG_DATA(CMSG_FIRSTHDR(&got)), sizeof error);
        told = error.ee_data;
    }
    say("told up to %u", told);
}

CASE(what_is_no_call_for_a_socket) {
    SAY(write(fd, "one", 3));
    SAY(lseek(fd, 0, SEEK_CUR));
    SAY(fsync(fd));
    SAY(ftruncate(fd, 0));
    SAY(pread(fd, known, 1, 0));
    void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    SAY(map == MAP_FAILED);
    munmap(map, 4096); /* else the connection stays when its number is closed */
    SAY(accept(fd, NULL, NULL));
    SAY(listen(fd, 5));
    SAY(ioctl(fd, TCGETS, known));
    SAY(write(fd, "two", 3));
}

/* ---- kinds of connection ---------------------------------------------------------- */

static void accepted_tells(int listener) {
    int first = peer;
    peer_accepts(listener);
    peer_tells();
    raw1(SYS_close, peer);
    peer = first;
}

CASE(data_with_the_handshake) {
    struct sockaddr_in address;
    int listener = listening(&address, 0), five = 5, one = 1;
    raw6(SYS_setsockopt, listener, IPPROTO_TCP, TCP_FASTOPEN, (long)&five, sizeof five, 0);
    for (int i = 0; i < 2; i++) {
        int other = socket(AF_INET, SOCK_STREAM, 0);
        if (i)
            SAY(setsockopt(other, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof one));
        if (i)
            SAY(connect(other, (struct sockaddr *)&address, sizeof address));
        else
            SAY(sendto(other, "hello", 5, MSG_FASTOPEN, (struct sockaddr *)&address, sizeof address));
        SAY(write(other, "one", 3));
        SAY(write(other, "two", 3));
        SAY(close(other));
    }
    accepted_tells(dup(listener));
    accepted_tells(listener);
}

CASE(several_paths) {
    struct sockaddr_in address;
    int other = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
    say("%s", other < 0 ? "no MPTCP" : "MPTCP");
    if (other < 0)
        return;
    int listener = listening(&address, IPPROTO_MPTCP);
    SAY(connect(other, (struct sockaddr *)&address, sizeof address));
    for (int i = 0; i < 4; i++) {
        SAY(write(other, "one", 3));
        SAY(write(other, "two", 3));
        SAY(send(other, "three", 5, MSG_DONTWAIT));
    }
    SAY(shutdown(other, SHUT_WR));
    accepted_tells(listener);
    SAY(close(other));
}

/* ---- the process confines itself ----------------------------------------------------- */

CASE(another_root_and_other_namespaces) {
    pid_t child = fork();
    if (child == 0) {
        SAY(write(fd, "one", 3));
        SAY(unshare(CLONE_FS));
        SAY(write(fd, "two", 3));
        SAY(unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC));
        SAY(chroot("/proc"));
        SAY(write(fd, "three", 5));
        SAY(chdir("/"));
        SAY(write(fd, "four", 4));
        SAY(unshare(CLONE_FILES));
        SAY(write(fd, "five", 4));
        _exit(0);
    }
    wait_unseen(child);
}

/* More parts than one call of the library takes.  A program that waits for an edge takes a short count for a
 * full socket: epoll(7). */
CASE(a_long_vector_without_waiting) {
    static char data[20000];
    struct iovec parts[200];
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 200; i++)
        parts[i] = (struct iovec){data + 100 * i, 100};
    SAY(write(fd, "head", 4));
    SAY(writev(fd, parts, 200));
    SAY(write(fd, "head", 4));
    SAY(writev(fd, parts, 64));
}

