/* SPDX-License-Identifier: MIT
 *
 * A server whose peer has two requests of REQUEST bytes under way.  Each answer is one small write.  The
 * first argument says how it reads them, and answers:
 *
 *   exact     each request by a read of its length: the second is queued already when the first is answered
 *   prefixed  a length of four bytes, then the rest, as most binary protocols
 *   by_head   as prefixed, but it answers before it reads the rest, which is there already
 *   by_byte   a byte a read
 *   waits     as exact, after poll(2)
 *   messages  as exact, by recvmmsg(2)
 *   numbered  as exact, by syscall(2) with the number of recvfrom(2), readv(2) and recvmsg(2) in turn
 *   threads   one thread reads, another one answers
 *   forks     as exact, in a child of a fork that has the connection alone
 *   uncorks   as exact, and each answer is two writes between TCP_CORK=1 and TCP_CORK=0
 *   file      as exact, and each answer leaves by sendfile(2)
 *   several   as exact, and each answer leaves by sendmmsg(2)
 *   pairs     as several, and each answer is two messages of the call
 *   blocks    as exact, but requests of BLOCK bytes, whose copy takes longer than many a wait
 *   peeks     as exact, and each answer is two writes; in between the server looks by MSG_PEEK whether its
 *             client is still there, and sees the next request
 *   apart     its buffer has room for many, but the second request comes while it thinks about the first
 *   apart_waits  as apart, after poll(2)
 *   apart_spins  as apart, but it never waits: it reads with MSG_DONTWAIT until something is there
 *   apart_slowly  as apart_waits, and it computes before it reads, as interpreters do
 *   briefly   as exact, on connections for two pairs each: the last answer is the only one that stalls
 *   together  both by one read, and one write for both answers: no stall
 */
#include <semaphore.h>
#include <sys/sendfile.h>

#define SERVE serve_how
#include "server.h"

enum { ANSWER = HEADER + BODY, BLOCK = 131072 };

static bool is_how(const char *name) {
    return strcmp(how, name) == 0;
}

static bool read_exactly(int fd, char *to, size_t most) {
    for (ssize_t n; most > 0; to += n, most -= (size_t)n)
        if ((n = read(fd, to, most)) <= 0) return false;
    return true;
}

static bool read_by_number(int fd, char *request) {
    static int i;
    struct iovec part = {request, REQUEST};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    long n = i == 0   ? syscall(SYS_recvfrom, fd, request, (long)REQUEST, (long)MSG_WAITALL, NULL, NULL)
             : i == 1 ? syscall(SYS_readv, fd, &part, 1L)
                      : syscall(SYS_recvmsg, fd, &header, (long)MSG_WAITALL);
    i = (i + 1) % 3;
    return n == REQUEST;
}

static bool read_request(int fd) {
    char request[REQUEST];
    static char block[BLOCK];
    static size_t rest;
    if (is_how("by_head")) {
        if (!read_exactly(fd, request, rest)) return false;
        rest = REQUEST - 4;
        return read_exactly(fd, request, 4);
    }
    if (is_how("blocks")) return recv(fd, block, BLOCK, MSG_WAITALL) == BLOCK;
    if (is_how("numbered")) return read_by_number(fd, request);
    if (is_how("messages")) {
        struct iovec part = {request, REQUEST};
        struct mmsghdr header = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
        return recvmmsg(fd, &header, 1, MSG_WAITALL, NULL) == 1 && header.msg_len == REQUEST;
    }
    if (strncmp(how, "apart", 5) == 0) {
        static ssize_t left; /* on a busy machine both come by one read */
        bool spins = is_how("apart_spins");
        if (!is_how("apart") && !spins && !left) CHECK(poll(&(struct pollfd){fd, POLLIN, 0}, 1, -1) == 1);
        if (is_how("apart_slowly"))
            for (long begin = now_us(); now_us() - begin < 100;) continue;
        for (ssize_t n; !left; left = n < 0 ? 0 : n / REQUEST)
            if ((n = recv(fd, block, BLOCK, spins ? MSG_DONTWAIT : 0)) == 0) return false;
        return left-- > 0 && usleep(2000) == 0;
    }
    if (is_how("waits")) CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) == 1);
    if (is_how("by_byte")) {
        for (int i = 0; i < REQUEST; i++)
            if (!read_exactly(fd, request, 1)) return false;
        return true;
    }
    return is_how("prefixed") ? read_exactly(fd, request, 4) && read_exactly(fd, request + 4, REQUEST - 4)
                              : read_exactly(fd, request, REQUEST);
}

static void write_by_file(int fd, int i) {
    static int file = -1;
    off_t at = (off_t)i * ANSWER; /* the kernel sends the file's own pages, so what has left stays */
    if (file < 0) CHECK((file = memfd_create("answers", 0)) >= 0);
    CHECK(pwrite(file, message, ANSWER, at) == ANSWER);
    CHECK(sendfile(fd, file, &at, ANSWER) == ANSWER);
}

static void write_several(int fd) {
    struct iovec part = {message, ANSWER}, halves[] = {{message, HEADER}, {message + HEADER, BODY}};
    struct mmsghdr whole = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    struct mmsghdr both[] = {{.msg_hdr = {.msg_iov = halves, .msg_iovlen = 1}},
                             {.msg_hdr = {.msg_iov = halves + 1, .msg_iovlen = 1}}};
    if (is_how("pairs"))
        CHECK(sendmmsg(fd, both, 2, 0) == 2);
    else
        CHECK(sendmmsg(fd, &whole, 1, 0) == 1 && whole.msg_len == ANSWER);
}

/* By each call that has such flags.  The buffer is larger than what is there. */
static void peek(int fd, int i) {
    enum { FLAGS = MSG_PEEK | MSG_DONTWAIT };
    char seen[4 * REQUEST];
    struct iovec part = {seen, sizeof seen};
    struct mmsghdr header = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    switch (i % 5) {
    case 0: recv(fd, seen, sizeof seen, FLAGS); break;
    case 1: recvfrom(fd, seen, sizeof seen, FLAGS, NULL, NULL); break;
    case 2: recvmsg(fd, &header.msg_hdr, FLAGS); break;
    case 3: recvmmsg(fd, &header, 1, FLAGS, NULL); break;
    case 4: syscall(SYS_recvfrom, fd, seen, sizeof seen, (long)FLAGS, NULL, NULL);
    }
}

static void answer(int fd, int i) {
    next_message(i);
    if (is_how("file")) {
        write_by_file(fd, i);
    } else if (is_how("several") || is_how("pairs")) {
        write_several(fd);
    } else if (is_how("peeks")) {
        CHECK(write(fd, message, HEADER) == HEADER);
        peek(fd, i / 2);
        CHECK(write(fd, message + HEADER, BODY) == BODY);
    } else if (is_how("uncorks")) {
        set_option(fd, TCP_CORK, 1);
        write_message(fd);
        set_option(fd, TCP_CORK, 0);
    } else {
        CHECK(write(fd, message, ANSWER) == ANSWER);
    }
}

static void answer_together(int fd) {
    char requests[2 * REQUEST], answers[2 * ANSWER];
    for (int i = 0; recv(fd, requests, sizeof requests, MSG_WAITALL) == sizeof requests; i += 2) {
        fill(answers, sizeof answers, (size_t)i * ANSWER);
        CHECK(write(fd, answers, sizeof answers) == sizeof answers);
    }
}

static sem_t requests;
static int connection;
static volatile bool ended;

static void *answer_in_thread(void *unused) {
    for (int i = 0;; i++) {
        while (sem_wait(&requests) != 0) continue;
        if (ended) return unused;
        answer(connection, i);
    }
}

static void answer_by_threads(int fd) {
    pthread_t thread;
    connection = fd;
    CHECK(sem_init(&requests, 0, 0) == 0);
    CHECK(pthread_create(&thread, NULL, answer_in_thread, NULL) == 0);
    while (read_request(fd)) CHECK(sem_post(&requests) == 0);
    ended = true;
    CHECK(sem_post(&requests) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void serve_briefly(int listener) {
    for (int fd, i = 0; (fd = accept(listener, NULL, NULL)) >= 0 && read_request(fd); close(fd)) {
        do answer(fd, i++);
        while (read_request(fd));
    }
}

static void serve_how(int listener) {
    if (is_how("briefly")) {
        serve_briefly(listener);
        return;
    }
    int fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    pid_t child = is_how("forks") ? fork() : 0;
    CHECK(child >= 0);
    if (child) {
        close(fd);
        CHECK(status_of(child) == 0);
        return;
    }
    if (is_how("together"))
        answer_together(fd);
    else if (is_how("threads"))
        answer_by_threads(fd);
    else
        for (int i = 0; read_request(fd); i++) answer(fd, i);
    close(fd);
}
