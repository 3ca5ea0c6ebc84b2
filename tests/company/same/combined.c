/* SPDX-License-Identifier: MIT
 *
 * Combinations in one program: processes, threads, signals, other ways of sending, other owners of a
 * connection and its end, in the midst of small writes.
 */
#include "same.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <wordexp.h>

extern char **environ;

static int file_of(long bytes) {
    int file = (int)raw2(SYS_memfd_create, "file", 0);
    for (long i = 0; i < bytes; i++)
        raw3(SYS_write, file, "abcdefghijklmnop" + i % 16, 1);
    return file;
}

static void wait_for(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) == -1 && errno == EINTR)
        ;
    say("the child ended with %x", (unsigned)status);
}

/* Unseen: nothing is let go of by it. */
static void wait_unseen(pid_t child) {
    int status = -1;
    raw4(SYS_wait4, child, &status, 0, 0);
    say("the child ended with %x", (unsigned)status);
}

static void peer_answers(const char *text) {
    raw3(SYS_write, peer, text, strlen(text));
}

/* ---- processes --------------------------------------------------------- */

CASE(parent_and_child_write_in_turn) {
    for (int i = 0; i < 4; i++) {
        SAY(write(fd, "parent", 6));
        pid_t child = fork();
        if (child == 0) {
            NEED(write(fd, "the child", 9) == 9);
            NEED(write(fd, "again", 5) == 5);
            _exit(i);
        }
        wait_for(child);
        SAY(write(fd, "after it", 8));
    }
}

CASE(a_grandchild_goes_on) {
    SAY(write(fd, "first", 5));
    int ends[2];
    raw2(SYS_pipe2, ends, 0);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            setsid();
            NEED(write(fd, "grandchild", 10) == 10);
            NEED(write(fd, "goes on", 7) == 7);
            exit(0);
        }
        _exit(0);
    }
    wait_for(child);
    raw1(SYS_close, ends[1]);
    char end;
    raw3(SYS_read, ends[0], &end, 1); /* until the grandchild has ended */
    SAY(write(fd, "last", 4));
}

CASE(a_vforked_child_executes) {
    SAY(write(fd, "before", 6));
    char words[40];
    snprintf(words, sizeof words, "echo shell >&%d", fd);
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", words, NULL);
        _exit(9);
    }
    wait_for(child);
    SAY(write(fd, "behind", 6));
    SAY(write(fd, "more", 4));
}

CASE(a_spawned_program_has_it_as_output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, 1);
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "a", 1));
        SAY(write(fd, "bc", 2));
        pid_t child;
        char *words[] = {"sh", "-c", "printf one; printf two; /bin/echo three", NULL};
        NEED(posix_spawn(&child, "/bin/sh", &actions, NULL, words, environ) == 0);
        wait_for(child);
        SAY(write(fd, "d", 1));
        int value = -1;
        socklen_t length = sizeof value;
        SAY(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length));
        say("TCP_NODELAY is %d", value);
    }
}

/* In coalesce the shell's bytes overtook the buffered ones. */
CASE(expanded_words_run_a_shell) {
    char words[40];
    wordexp_t found;
    snprintf(words, sizeof words, "$(printf shell >&%d)", fd);
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "a", 1));
        SAY(write(fd, "b", 1));
        SAY(wordexp(words, &found, 0));
        wordfree(&found);
        SAY(wordexp(words, &found, WRDE_NOCMD));
        SAY(write(fd, "c", 1));
    }
}

CASE(executed_in_a_child_with_bytes_held) {
    char words[60];
    snprintf(words, sizeof words, "printf shell >&%d; printf twice >&%d", fd, fd);
    pid_t child = fork();
    if (child == 0) {
        NEED(write(fd, "held", 4) == 4);
        NEED(write(fd, "twice", 5) == 5);
        execl("/bin/sh", "sh", "-c", words, NULL);
    }
    wait_for(child);
    SAY(write(fd, "parent", 6));
}

CASE(an_execution_that_fails) {
    SAY(write(fd, "one", 3));
    SAY(execl("/nonexistent/program", "program", NULL));
    SAY(write(fd, "two", 3));
    SAY(write(fd, "three", 5));
}

CASE(a_child_stopped_and_continued) {
    pid_t child = fork();
    if (child == 0) {
        NEED(write(fd, "stop", 4) == 4);
        NEED(write(fd, "stops", 5) == 5);
        raise(SIGSTOP);
        NEED(write(fd, "continues", 9) == 9);
        NEED(write(fd, "ends", 4) == 4);
        _exit(3);
    }
    int status = 0;
    raw4(SYS_wait4, child, &status, WUNTRACED, 0);
    say("stopped: %d", WIFSTOPPED(status));
    kill(child, SIGCONT);
    wait_unseen(child);
}

CASE(a_child_ends_in_each_way) {
    static void (*const ways[])(int) = {exit, _exit, quick_exit, _Exit};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        pid_t child = fork();
        if (child == 0) {
            NEED(write(fd, "ends", 4) == 4);
            NEED(write(fd, "now", 3) == 3);
            ways[i]((int)i);
        }
        wait_unseen(child);
    }
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        NEED(write(fd, "aborts", 6) == 6);
        NEED(write(fd, "now", 3) == 3);
        abort();
    }
    wait_unseen(child);
}

static int at_the_end;

static void writes_at_the_end(void) {
    write(at_the_end, "atexit", 6);
    write(at_the_end, "writes", 6);
}

CASE(exit_functions_write) {
    at_the_end = fd;
    pid_t child = fork();
    if (child == 0) {
        atexit(writes_at_the_end);
        NEED(write(fd, "child", 5) == 5);
        exit(0);
    }
    wait_unseen(child);
}

static void before_fork(void) {
    write(at_the_end, "before", 6);
}

static void after_fork(void) {
    write(at_the_end, "after", 5);
}

CASE(fork_handlers_write) {
    at_the_end = fd;
    NEED(pthread_atfork(before_fork, after_fork, NULL) == 0);
    SAY(write(fd, "one", 3));
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    wait_for(child);
    SAY(write(fd, "two", 3));
}

/* ---- other owners -------------------------------------------------------- */

CASE(given_away_by_scm_rights) {
    int ends[2];
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        char text[1], control[CMSG_SPACE(sizeof(int))];
        struct iovec part = {text, 1};
        struct msghdr got = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
        close(fd);
        NEED(recvmsg(ends[1], &got, 0) == 1);
        int theirs;
        memcpy(&theirs, CMSG_DATA(CMSG_FIRSTHDR(&got)), sizeof theirs);
        NEED(write(theirs, "given", 5) == 5);
        NEED(write(theirs, "away", 4) == 4);
        _exit(0);
    }
    SAY(write(fd, "mine", 4));
    SAY(write(fd, "still", 5));
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec part = {"x", 1};
    struct msghdr sent = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                          .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&sent);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    SAY(sendmsg(ends[0], &sent, 0));
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

CASE(another_descriptor_put_over_it) {
    int copy = dup(fd), null = open("/dev/null", O_WRONLY);
    SAY(write(fd, "held", 4));
    SAY(write(fd, "held too", 8));
    NEED(dup2(null, fd) == fd);
    SAY(write(fd, "nowhere", 7));
    SAY(write(copy, "copy", 4));
    NEED(close_range((unsigned)copy, (unsigned)copy, 0) == 0);
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

CASE(the_peer_resets) {
    struct linger at_once = {1, 0};
    char answer[10];
    signal(SIGPIPE, SIG_IGN);
    SAY(write(fd, "one", 3));
    poll(NULL, 0, 5);
    raw6(SYS_setsockopt, peer, SOL_SOCKET, SO_LINGER, (long)&at_once, sizeof at_once, 0);
    raw1(SYS_close, peer);
    struct pollfd end = {fd, POLLIN, 0};
    NEED(raw3(SYS_poll, &end, 1, 3000) == 1);
    say("%x", (unsigned)end.revents);
    SAY(write(fd, "two", 3));
    SAY(write(fd, "three", 5));
    SAY(read(fd, answer, sizeof answer));
}

/* ---- other ways of sending --------------------------------------------------- */

CASE(urgent_bytes_among_small_ones) {
    int one = 1;
    raw6(SYS_setsockopt, peer, SOL_SOCKET, SO_OOBINLINE, (long)&one, sizeof one, 0);
    SAY(write(fd, "before", 6));
    SAY(write(fd, "still", 5));
    SAY(send(fd, "!", 1, MSG_OOB));
    SAY(write(fd, "behind", 6));
    SAY(write(fd, "it", 2));
}

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
    SAY(setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one));
    for (int i = 0; i < 4; i++)
        SAY(send(fd, known, 100, MSG_ZEROCOPY));
    acknowledge_at_once();
    peer_takes(400);
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
    SAY(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
    SAY(accept(fd, NULL, NULL));
    SAY(listen(fd, 5));
    SAY(ioctl(fd, TCGETS, known));
    SAY(write(fd, "two", 3));
}

/* ---- threads and signals ------------------------------------------------------- */

static void *writes_twice(void *argument) {
    int fd = *(int *)argument;
    NEED(write(fd, "thread", 6) == 6);
    NEED(write(fd, "writes", 6) == 6);
    return NULL;
}

CASE(threads_come_and_go) {
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        NEED(write(fd, "main", 4) == 4);
        NEED(pthread_create(&thread, NULL, writes_twice, &fd) == 0);
        NEED(pthread_join(thread, NULL) == 0);
        NEED(write(fd, "joined", 6) == 6);
    }
}

static void *forks(void *argument) {
    int fd = *(int *)argument;
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        NEED(waitpid(child, NULL, 0) == child);
    }
    return fd >= 0 ? NULL : argument;
}

CASE(a_thread_forks_while_another_writes) {
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, forks, &fd) == 0);
    for (int i = 0; i < 200; i++)
        NEED(write(fd, "0123456789abcdef", (size_t)(1 + i % 16)) == 1 + i % 16);
    NEED(pthread_join(thread, NULL) == 0);
}

static int has_written;

static void *waits_in_read(void *argument) {
    int fd = *(int *)argument;
    char answer[10];
    NEED(write(fd, "then", 4) == 4);
    NEED(write(fd, "read", 4) == 4);
    __atomic_store_n(&has_written, 1, __ATOMIC_RELEASE);
    NEED(read(fd, answer, sizeof answer) >= 0);
    return NULL;
}

CASE(a_reader_is_cancelled) {
    pthread_t thread;
    void *result = NULL;
    NEED(pthread_create(&thread, NULL, waits_in_read, &fd) == 0);
    while (!__atomic_load_n(&has_written, __ATOMIC_ACQUIRE))
        raw0(SYS_sched_yield);
    NEED(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    say("cancelled: %d", result == PTHREAD_CANCELED);
    SAY(write(fd, "goes", 4));
    SAY(write(fd, "on", 2));
}

static void *main_has_gone(void *argument) {
    int fd = *(int *)argument;
    poll(NULL, 0, 5);
    NEED(write(fd, "main", 4) == 4);
    NEED(write(fd, "has gone", 8) == 8);
    exit(7);
}

CASE(main_ends_before_its_thread) {
    pid_t child = fork();
    if (child == 0) {
        static int number;
        number = fd;
        pthread_t thread;
        NEED(write(fd, "main", 4) == 4);
        NEED(pthread_create(&thread, NULL, main_has_gone, &number) == 0);
        NEED(write(fd, "leaves", 6) == 6);
        pthread_exit(NULL);
    }
    wait_unseen(child);
}

static int handled;

static void writes_in_a_handler(int number) {
    (void)number;
    write(handled, "handler", 7);
    write(handled, "writes", 6);
}

CASE(handlers_write_in_between) {
    handled = fd;
    signal(SIGUSR1, writes_in_a_handler);
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "one", 3));
        SAY(raise(SIGUSR1));
        SAY(write(fd, "two", 3));
    }
}

static void nothing(int number) {
    (void)number;
}

static void alarm_every(int us, int flags) {
    struct sigaction action = {.sa_handler = nothing, .sa_flags = flags};
    struct itimerval every = {{0, us}, {0, us}};
    NEED(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
}

static void no_alarm(void) {
    NEED(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL) == 0);
}

CASE(alarms_interrupt_a_wait) {
    char answer[10];
    SAY(write(fd, "one", 3));
    SAY(write(fd, "two", 3));
    alarm_every(5000, 0);
    SAY(read(fd, answer, sizeof answer));
    SAY(poll(&(struct pollfd){fd, POLLIN, 0}, 1, 3000));
    SAY(select(0, NULL, NULL, NULL, &(struct timeval){3, 0}));
    SAY(recv(fd, answer, sizeof answer, 0));
    no_alarm();
    SAY(write(fd, "three", 5));
}

CASE(alarms_while_small_writes_go_on) {
    alarm_every(300, SA_RESTART);
    for (int i = 0; i < 2000; i++)
        NEED(write(fd, "0123456789", (size_t)(1 + i % 10)) == 1 + i % 10);
    no_alarm();
}

static sigjmp_buf before_read;

static void jumps(int number) {
    siglongjmp(before_read, number);
}

CASE(a_handler_jumps_out_of_a_wait) {
    char answer[10];
    signal(SIGALRM, jumps);
    for (volatile int i = 0; i < 3; i++) {
        SAY(write(fd, "one", 3));
        SAY(write(fd, "two", 3));
        if (sigsetjmp(before_read, 1) == 0) {
            setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 3000}}, NULL);
            SAY(read(fd, answer, sizeof answer));
        }
        SAY(write(fd, "three", 5));
    }
}

CASE(waits_for_other_descriptors) {
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    uint64_t value = 0;
    struct itimerspec soon = {.it_value.tv_nsec = 2000000};
    for (int i = 0; i < 3; i++) {
        SAY(write(fd, "one", 3));
        SAY(write(fd, "two", 3));
        SAY(timerfd_settime(timer, 0, &soon, NULL));
        SAY(read(timer, &value, sizeof value));
    }
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    int signals = signalfd(-1, &usr1, 0);
    struct signalfd_siginfo info;
    SAY(write(fd, "three", 5));
    SAY(raise(SIGUSR1));
    SAY(read(signals, &info, sizeof info));
    int event = eventfd(1, EFD_SEMAPHORE);
    SAY(write(fd, "four", 4));
    SAY(read(event, &value, sizeof value));
    SAY(write(fd, "five", 4));
}

CASE(edges_of_epoll) {
    int ready = epoll_create1(0);
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP}, got = {0};
    SAY(epoll_ctl(ready, EPOLL_CTL_ADD, fd, &wanted));
    SAY(epoll_wait(ready, &got, 1, 100));
    say("%x", got.events);
    SAY(write(fd, "one", 3));
    SAY(write(fd, "two", 3));
    SAY(epoll_wait(ready, &got, 1, 0));
    peer_answers("answer");
    SAY(epoll_wait(ready, &got, 1, 3000));
    say("%x", got.events);
    int copy = dup(fd);
    SAY(epoll_ctl(ready, EPOLL_CTL_ADD, copy, &wanted));
    SAY(close(copy));
    SAY(write(fd, "three", 5));
    raw2(SYS_shutdown, peer, SHUT_WR);
    for (int i = 0; i < 300 && !(got.events & EPOLLRDHUP); i++)
        epoll_wait(ready, &got, 1, 10);
    say("%x", got.events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP));
}

static int signalled;

static void counts(int number) {
    (void)number;
    signalled++;
}

CASE(told_by_a_signal) {
    signal(SIGIO, counts);
    SAY(fcntl(fd, F_SETOWN, getpid()));
    SAY(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
    SAY(write(fd, "one", 3));
    SAY(write(fd, "two", 3));
    signalled = 0;
    peer_answers("answer");
    for (int i = 0; i < 300 && !signalled; i++)
        poll(NULL, 0, 10);
    say("signalled: %d", signalled > 0);
    char answer[10];
    SAY(read(fd, answer, sizeof answer));
    SAY(read(fd, answer, sizeof answer));
}

/* ---- kinds of connection ---------------------------------------------------------- */

static int listening(struct sockaddr_in *address, int protocol) {
    socklen_t length = sizeof *address;
    int listener = high(raw3(SYS_socket, AF_INET, SOCK_STREAM, protocol));
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    NEED(raw3(SYS_bind, listener, address, length) == 0 && raw2(SYS_listen, listener, 5) == 0);
    NEED(raw3(SYS_getsockname, listener, address, &length) == 0);
    return listener;
}

static void accepted_tells(int listener) {
    int first = peer;
    peer = high(raw4(SYS_accept4, listener, 0, 0, 0));
    peer_tells();
    raw1(SYS_close, peer);
    raw1(SYS_close, listener);
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

CASE(no_descriptor_and_little_memory_left) {
    pid_t child = fork();
    if (child == 0) {
        struct rlimit few = {(rlim_t)fd + 1, (rlim_t)fd + 1}, little = {1 << 20, 1 << 20};
        SAY(setrlimit(RLIMIT_NOFILE, &few));
        SAY(setrlimit(RLIMIT_AS, &little));
        for (int i = 0; i < 4; i++) {
            SAY(write(fd, "one", 3));
            SAY(write(fd, "two", 3));
            SAY(poll(NULL, 0, 1));
        }
        _exit(0);
    }
    wait_unseen(child);
}

CASE(options_on_and_off) {
    static const int options[] = {TCP_NODELAY, TCP_CORK, TCP_NODELAY, TCP_QUICKACK};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        for (int on = 1; on >= 0; on--) {
            int value = -1;
            socklen_t length = sizeof value;
            SAY(write(fd, "one", 3));
            SAY(setsockopt(fd, IPPROTO_TCP, options[i], &on, sizeof on));
            SAY(write(fd, "two", 3));
            SAY(getsockopt(fd, IPPROTO_TCP, options[i], &value, &length));
            if (options[i] != TCP_QUICKACK)
                say("%d", value);
        }
}
