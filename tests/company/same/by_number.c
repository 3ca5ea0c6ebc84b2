/* SPDX-License-Identifier: MIT
 *
 * Calls by syscall(2), and flags that go by no other call, between small writes.  In coalesce bytes were
 * lost by shutdown, accepted after connect, and overtaken by pwritev2 with flags.
 */
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>

#include "same.h"

CASE(written_at_an_offset_with_flags) {
    struct iovec part = {"part", 4};
    SAY(write(fd, "a", 1));
    SAY(pwritev2(fd, &part, 1, -1, RWF_NOWAIT));
    SAY(write(fd, "b", 1));
    SAY(pwritev2(fd, &part, 1, -1, RWF_HIPRI));
    SAY(write(fd, "c", 1));
    SAY(syscall(SYS_pwritev2, fd, &part, 1L, -1L, -1L, (long)RWF_NOWAIT));
    SAY(write(fd, "d", 1));
    SAY(syscall(SYS_pwritev2, fd, &part, 1L, -1L, 0L, 0L));
    SAY(write(fd, "e", 1));
    SAY(syscall(SYS_pwritev2, fd, &part, 1L, 5L, 0L, 0L));
}

CASE(shut_down_by_number) {
    SAY(write(fd, "a", 1));
    SAY(write(fd, "b", 1));
    SAY(syscall(SYS_shutdown, fd, SHUT_WR));
    SAY(send(fd, "c", 1, MSG_NOSIGNAL));
}

CASE(copied_by_number) {
    SAY(write(fd, "a", 1));
    int copy = (int)syscall(SYS_dup, fd);
    SAY(write(copy, "b", 1));
    SAY(write(fd, "c", 1));
    SAY(syscall(SYS_dup3, fd, 90, 0));
    SAY(write(90, "d", 1));
    SAY(write(fd, "e", 1));
    SAY(syscall(SYS_fcntl, fd, F_DUPFD, 100));
    SAY(write(100, "f", 1));
    SAY(close(copy));
    SAY(syscall(SYS_close, 90));
    SAY(write(fd, "g", 1));
    SAY(syscall(SYS_close, 100));
}

/* The option is the connection's: what the program sets by one number, it reads by each. */
CASE(options_by_a_number_copied_by_number) {
    int off = 0, on = 1;
    int copies[2] = {(int)syscall(SYS_dup, fd), (int)syscall(SYS_fcntl, fd, F_DUPFD, 100)};
    for (int i = 0; i < 2; i++) {
        int got = -1;
        SAY(write(copies[i], "a", 1));
        SAY(write(copies[i], "b", 1));
        SAY(getsockopt(copies[i], IPPROTO_TCP, TCP_NODELAY, &got, &(socklen_t){sizeof got}));
        say("%d", got);
        SAY(setsockopt(copies[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
        SAY(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &got, &(socklen_t){sizeof got}));
        say("%d", got);
        SAY(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &off, sizeof off));
        SAY(getsockopt(copies[i], IPPROTO_TCP, TCP_NODELAY, &got, &(socklen_t){sizeof got}));
        say("%d", got);
        SAY(close(copies[i]));
    }
}

CASE(duplicated_over_another_by_number) {
    int pipes[2];
    char text[8] = "";
    SAY(pipe(pipes) == 0);
    SAY(write(fd, "a", 1));
    int kept = dup(fd);
    SAY(write(kept, "b", 1));
    SAY(syscall(SYS_dup3, pipes[1], kept, 0));
    SAY(write(kept, "to the pipe", 3));
    SAY(write(fd, "c", 1));
    SAY(read(pipes[0], text, 3));
    say("%s", text);
}

/* In coalesce the bytes in the buffer were lost, and the pipe's bytes with them. */
CASE(replaced_by_number_with_bytes_held) {
    int pipes[2];
    char text[8] = "";
    SAY(pipe(pipes) == 0);
    SAY(syscall(SYS_dup3, fd, 70, 0));
    SAY(write(70, "a", 1));
    SAY(write(70, "b", 1));
    SAY(syscall(SYS_dup3, pipes[1], 70, O_CLOEXEC));
    SAY(write(70, "to the pipe", 3));
    SAY(read(pipes[0], text, 3));
    say("%s", text);
    SAY(write(fd, "c", 1));
    SAY(syscall(SYS_dup3, fd, 70, 12345));
    SAY(fcntl(70, F_GETFD));
    SAY(write(70, "again", 5));
    SAY(close(70));
}

/* The kernel's own AIO: in coalesce its bytes overtook the buffered ones. */
CASE(submitted_by_number) {
    aio_context_t context = 0;
    struct iocb block = {.aio_fildes = (unsigned)fd, .aio_lio_opcode = IOCB_CMD_PWRITE,
                         .aio_buf = (uintptr_t)"submitted", .aio_nbytes = 9};
    struct iocb *list[] = {&block};
    struct io_event event = {0};
    SAY(syscall(SYS_io_setup, 4, &context));
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "a", 1));
        SAY(write(fd, "b", 1));
        SAY(syscall(SYS_io_submit, context, 1L, list));
        SAY(syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL));
        say("%lld", (long long)event.res);
        SAY(write(fd, "c", 1));
    }
    SAY(syscall(SYS_io_submit, context, 1L, nowhere));
}

static int others;

static void *writes_with_flags(void *unused) {
    struct iovec part = {"part", 4};
    SAY(pwritev2(others, &part, 1, -1, RWF_HIPRI));
    SAY(syscall(SYS_pwritev2, others, &part, 1L, -1L, -1L, (long)RWF_HIPRI));
    return unused;
}

/* Another thread has written the bytes in the buffer. */
CASE(written_with_flags_by_another_thread) {
    pthread_t thread;
    others = fd;
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "a", 1));
        SAY(write(fd, "b", 1));
        NEED(pthread_create(&thread, NULL, writes_with_flags, NULL) == 0);
        raw4(SYS_nanosleep, &(struct timespec){.tv_nsec = 30000000}, NULL, 0, 0); /* unseen */
        NEED(pthread_join(thread, NULL) == 0);
        SAY(write(fd, "c", 1));
    }
}

CASE(disconnected_by_number) {
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    acknowledge_at_once();
    SAY(write(fd, "a", 1));
    poll(NULL, 0, 60); /* all has left, in every mode */
    SAY(syscall(SYS_connect, fd, &none, sizeof none));
    SAY(send(fd, "b", 1, MSG_NOSIGNAL));
}

CASE(forked_by_number) {
    int status = 0;
    SAY(write(fd, "a", 1));
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        write(fd, "child", 5);
        write(fd, "again", 5);
        syscall(SYS_exit_group, 3);
    }
    SAY(syscall(SYS_wait4, child, &status, 0, NULL) == child);
    say("%d", WEXITSTATUS(status));
    SAY(write(fd, "b", 1));
}

CASE(waited_for_by_number) {
    struct pollfd of_peer = {.fd = fd, .events = POLLIN};
    acknowledge_at_once();
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "ab", 2));
        SAY(write(fd, "c", 1));
        SAY(syscall(SYS_ppoll, &of_peer, 1, &(struct timespec){.tv_nsec = 1000000}, NULL, 0));
        peer_takes(3);
        SAY(raw3(SYS_write, peer, "x", 1));
        char text[4];
        SAY(syscall(SYS_read, fd, text, 4));
    }
}

CASE(moved_to_a_high_number) {
    struct rlimit limit;
    SAY(getrlimit(RLIMIT_NOFILE, &limit));
    SAY(write(fd, "a", 1));
    SAY(dup2(fd, 800));
    SAY(close(fd));
    limit.rlim_cur = 300;
    SAY(setrlimit(RLIMIT_NOFILE, &limit));
    SAY(write(800, "b", 1));
    SAY(dup2(800, 250));
    SAY(dup2(250, 801));
    SAY(write(250, "c", 1));
    SAY(close(800));
    SAY(write(250, "d", 1));
    SAY(close(801));
    SAY(close(250));
}

CASE(a_file_cut_short_beneath_the_bytes) {
    int file = memfd_create("bytes", 0);
    SAY(ftruncate(file, 8192));
    char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    NEED(map != MAP_FAILED);
    memset(map, 'm', 8192);
    SAY(write(fd, map + 4000, 90));
    SAY(write(fd, map + 4090, 90));
    SAY(ftruncate(file, 4096));
    SAY(write(fd, map + 4000, 90));
    SAY(write(fd, map + 5000, 90));
    SAY(write(fd, map + 4090, 90));
    SAY(ftruncate(file, 0));
    SAY(write(fd, map, 90));
    SAY(write(fd, "after", 5));
}

CASE(readable_no_more_between_two_writes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    memset(known, 'k', page);
    SAY(write(fd, known, 10));
    SAY(mprotect(known, page, PROT_NONE));
    SAY(write(fd, known, 10));
    SAY(mprotect(known, page, PROT_READ));
    SAY(write(fd, known, 10));
    SAY(munmap(known, page));
    SAY(write(fd, known, 10));
    SAY(write(fd, "after", 5));
}

/* All accepted bytes arrive, and no more, wherever the time limit cuts. */
CASE(a_time_limit_for_sending) {
    struct timeval limit = {.tv_usec = 30000};
    int small = 4608;
    long accepted = 0;
    char block[700];
    memset(block, 'b', sizeof block);
    SAY(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit));
    SAY(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small));
    long n = 0;
    for (int i = 0; i < 20000 && n >= 0; i++, accepted += n > 0 ? n : 0)
        n = write(fd, block, i % 3 ? sizeof block : 10);
    say("%s", strerrorname_np(errno));
    peer_takes(accepted);
    limit.tv_usec = 0;
    SAY(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit));
}

CASE(edges_by_number) {
    int set = (int)syscall(SYS_epoll_create1, 0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
    SAY(syscall(SYS_epoll_ctl, set, EPOLL_CTL_ADD, fd, &event));
    SAY(write(fd, "a", 1));
    SAY(write(fd, "b", 1));
    SAY(syscall(SYS_epoll_pwait, set, &event, 1, 1000, NULL, 0));
    SAY(event.events);
    SAY(write(fd, "c", 1));
    SAY(syscall(SYS_epoll_pwait, set, &event, 1, 0, NULL, 0));
    peer_takes(1);
    SAY(raw3(SYS_write, peer, "x", 1));
    SAY(syscall(SYS_epoll_pwait, set, &event, 1, 1000, NULL, 0));
    SAY(event.events);
}

/* Its clone has a table of its own: the number is free there alone. */
CASE(closed_in_a_process_with_its_own_table) {
    int status = 0;
    SAY(write(fd, "a", 1));
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        syscall(SYS_close, fd);
        int other = socket(AF_INET, SOCK_STREAM, 0);
        write(other, "x", 1);
        _exit(other == fd);
    }
    SAY(waitpid((pid_t)child, &status, 0) == child);
    SAY(status);
    SAY(write(fd, "b", 1));
    SAY(unshare(CLONE_FILES));
    SAY(write(fd, "c", 1));
}
