/* SPDX-License-Identifier: MIT
 *
 * Programs that once met a defect of the library, within one process and one thread.
 */
#include <sys/select.h>

#ifndef PROGRAM
#define PROGRAM was_empty_write
#endif
#include "session.h"

/* Exchanges of header and body, then one of a header, a write of nothing by argv[5], and no body. */
static ssize_t put_nothing(int fd, const char *how) {
    struct iovec nothing = {message, 0};
    struct msghdr none = {.msg_iov = &nothing, .msg_iovlen = 1};
    if (strcmp(how, "write") == 0) return write(fd, message, 0);
    if (strcmp(how, "send") == 0) return send(fd, message, 0, 0);
    if (strcmp(how, "writev") == 0) return writev(fd, &nothing, 1);
    if (strcmp(how, "sendmsg") == 0) return sendmsg(fd, &none, 0);
    return -1;
}

static void was_empty_write(void) {
    int fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    next_message(client.count);
    long begin = now_us();
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(put_nothing(fd, how) == 0);
    read_reply(fd);
    ADD_FACT("\"last_us\": %ld", now_us() - begin);
    close(fd);
}

/* Exchanges, then a small write, more with the application's own wish to hold, by argv[5] (send,
 * sendmmsg, splice) and of argv[6] bytes, and the answer to the small write, before the rest goes. */
enum { SMALL = 8, MOST_MORE = 20000 };

static ssize_t put_more(int fd, const char *how, char *data, size_t length) {
    struct iovec piece = {data, length};
    struct mmsghdr one = {.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}};
    int ends[2];
    if (strcmp(how, "send") == 0) return send(fd, data, length, MSG_MORE);
    if (strcmp(how, "sendmmsg") == 0) return sendmmsg(fd, &one, 1, MSG_MORE) == 1 ? (ssize_t)one.msg_len : -1;
    CHECK(pipe(ends) == 0);
    CHECK(raw_call(SYS_write, ends[1], (long)data, (long)length, 0, 0) == (long)length);
    return splice(ends[0], NULL, fd, NULL, length, SPLICE_F_MORE);
}

static void was_more_after_small(void) {
    static char data[SMALL + MOST_MORE + 1];
    size_t much = (size_t)atoi(more);
    CHECK(much <= MOST_MORE);
    int fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    fill(data, sizeof data, (size_t)client.count * sizeof message);
    long begin = now_us();
    CHECK(write(fd, data, SMALL) == SMALL);
    CHECK(put_more(fd, how, data + SMALL, much) == (ssize_t)much);
    read_reply(fd);
    ADD_FACT("\"last_us\": %ld", now_us() - begin);
    CHECK(write(fd, data + SMALL + much, 1) == 1);
    close(fd);
}

/* One exchange, and then recvmmsg(2) of two messages at the end of the stream, or read(2) there.  argv[5]:
 * recvmmsg, or syscall (the same call by its number), or read. */
static int end_by(const char *how, int fd) {
    char room[2][64];
    struct iovec parts[2] = {{room[0], sizeof room[0]}, {room[1], sizeof room[1]}};
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &parts[0], .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = &parts[1], .msg_iovlen = 1}}};
    if (strcmp(how, "read") == 0) return (int)read(fd, room[0], sizeof room[0]);
    int got = strcmp(how, "syscall") == 0 ? (int)syscall(SYS_recvmmsg, fd, messages, 2L, 0L, NULL)
                                          : recvmmsg(fd, messages, 2, 0, NULL);
    CHECK(got == 2);
    return (int)(messages[0].msg_len + messages[1].msg_len);
}

static void was_end_of_stream(void) {
    int fd = connect_to(client);
    next_message(0);
    CHECK(write(fd, message, sizeof message) == sizeof message);
    read_reply(fd);
    CHECK(shutdown(fd, SHUT_WR) == 0);
    CHECK(end_by(how, fd) == 0);
    close(fd);
}

/* Exchanges, the half of a message, and then a wait for room in a full pipe by select(2), whose set is one
 * word of the kernel at the end of a page; the page behind it cannot be written. */
static void was_end_of_set(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct timeval moment = {.tv_usec = 1000};
    int full[2];
    CHECK(pages != MAP_FAILED && pipe2(full, O_NONBLOCK) == 0 && full[1] < 32);
    while (write(full[1], pages, page) > 0)
        ;
    CHECK(mprotect(pages + page, page, PROT_READ) == 0);
    int fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    next_message(client.count);
    CHECK(write(fd, message, HEADER) == HEADER);
    long *set = (long *)(void *)(pages + page) - 1;
    *set = 1L << full[1];
    CHECK(select(full[1] + 1, NULL, (fd_set *)(void *)set, NULL, &moment) == 0 && *set == 0);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

/* Exchanges with a poll between header and body, then the send buffer is filled, and a new turn
 * begins with small writes that answer EAGAIN, and goes on with a poll.  The peer does not read
 * meanwhile.  The facts: successful calls that a library can see (`writes`) and their bytes (`seen`), and all
 * bytes (`bytes`). */
enum { BIG = 65536, FAILING = 20, LITTLE = 30 };

static void exchange(int fd) {
    struct pollfd ready = {.fd = fd, .events = POLLIN | POLLOUT};
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(poll(&ready, 1, 1000) == 1);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

static char data[64 * BIG];

/* Writes until nothing more goes in; gives the number of writes.  Large ones alone: they do not stall. */
static int fill_up(int fd, size_t *at) {
    int writes = 0;
    for (size_t piece = BIG; piece > 0;) {
        ssize_t n = *at + piece <= sizeof data ? write(fd, data + *at, piece) : -1;
        *at += n > 0 ? (size_t)n : 0;
        writes += n > 0;
        if (n < 0) piece = piece == BIG ? 5000 : 0;
    }
    return writes;
}

/* The same, unseen, until the peer has no room either. */
static void fill_peer_unseen(int fd, size_t *at) {
    for (size_t before = 0; before != *at;) {
        before = *at;
        await_settled(fd);
        for (long n; (n = raw_call(SYS_sendto, fd, (long)(data + *at), BIG, MSG_DONTWAIT, 0)) > 0;) {
            *at += (size_t)n;
            CHECK(*at < sizeof data / 2);
        }
    }
}

static void was_full(void) {
    int fd = connect_to(client), small = 4096, writes = 2 * client.count;
    size_t at = (size_t)client.count * sizeof message;
    fill(data, sizeof data, 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    for (int i = 0; i < client.count; i++) {
        next_message(i);
        exchange(fd);
    }
    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    writes += fill_up(fd, &at);
    size_t seen = at;
    fill_peer_unseen(fd, &at);

    struct pollfd room = {.fd = fd, .events = POLLOUT};
    mark(BEGIN);
    usleep(2000); /* the end of the turn */
    for (int i = 0; i < FAILING; i++) CHECK(write(fd, data + at, LITTLE) == -1 && errno == EAGAIN);
    CHECK(poll(&room, 1, 10) == 0);
    room.events = POLLIN | POLLOUT;
    CHECK(write(fd, data + at, LITTLE) == -1 && errno == EAGAIN);
    CHECK(poll(&room, 1, 10) == 0);
    mark(END);

    tell_peer(client);
    CHECK(poll(&room, 1, 10000) == 1);
    CHECK(write(fd, data + at, LITTLE) == LITTLE);
    ADD_FACT("\"writes\": %d, \"seen\": %zu, \"bytes\": %zu", writes + 1, seen + LITTLE, at + LITTLE);
    close(fd);
}

/* A connection made by raw system calls, TCP_NODELAY set by the application, one write an exchange. */
static void was_made_unseen(void) {
    int fd = connect_unseen(client);
    mark(BEGIN);
    set_option(fd, TCP_NODELAY, 1);
    run_exchanges(fd, client.count, one_write);
    close(fd);
    mark(END);
}

/* A connection made by raw system calls and copied before its first use: messages of two writes by one
 * number, which is then closed.  Prints the value that the other number reads back. */
static void was_copied_unseen(void) {
    int fd = connect_unseen(client), copy = dup(fd);
    run_exchanges(fd, client.count, two_writes);
    close(fd);
    ADD_FACT("\"nodelay\": %d", option_of(copy, TCP_NODELAY));
    run_exchanges(copy, client.count, two_writes);
}

/* Exchanges over TCP; then datagrams, 64 by one sendmmsg, whose headers lie in a mapping. */
enum { MESSAGES = 64 };

static void send_datagrams(void) {
    static struct iovec piece = {message, 10};
    int ends[2];
    udp_pair(ends);
    struct mmsghdr *messages = mmap(NULL, MESSAGES * sizeof *messages, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(messages != MAP_FAILED);
    for (int i = 0; i < MESSAGES; i++)
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &piece, .msg_iovlen = 1};
    CHECK(sendmmsg(ends[0], messages, MESSAGES, 0) == MESSAGES);
    mark(BEGIN);
    CHECK(sendmmsg(ends[0], messages, MESSAGES, 0) == MESSAGES);
    mark(END);
}

static void was_many_messages(void) {
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    send_datagrams();
    close(fd);
}

/* The connection is descriptor 2: closed before by argv[5] (close, fclose), or never open (none). */
static void was_stderr_reborn(void) {
    if (strcmp(how, "close") == 0) CHECK(close(2) == 0);
    if (strcmp(how, "fclose") == 0) CHECK(fclose(stderr) == 0);
    int fd = connect_to(client);
    if (fd != 2) exit(3);
    run_exchanges(fd, client.count, two_writes);
}

/* Header and body are written when the process is ending already, by argv[5]:
 *
 *   exit        a handler of atexit
 *   quick_exit  a handler of at_quick_exit
 *   flush       a stream of our own kind that exit flushes, after all handlers and destructors */
static int fd;

static void write_more(void) {
    write_message(fd);
}

static ssize_t flushed(void *unused, const char *bytes, size_t length) {
    (void)unused;
    (void)bytes;
    write_more();
    return (ssize_t)length;
}

static void was_ending(void) {
    fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    next_message(client.count);
    if (strcmp(how, "exit") == 0) {
        CHECK(atexit(write_more) == 0);
    } else if (strcmp(how, "quick_exit") == 0) {
        CHECK(at_quick_exit(write_more) == 0);
        quick_exit(0);
    } else {
        FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = flushed});
        CHECK(stream && fputc('x', stream) == 'x');
    }
    exit(0);
}

/* Exchanges; then a handler on an alternate stack of 8192 bytes (SIGSTKSZ) above a page that is not there
 * does argv[5]: ends or replaces the process, tries to, forks, or writes a message in two pieces. */
enum { STACK = 8192, GUARD = 65536 };

static int connection;

static void on_usr2(int number) {
    (void)number;
    if (strcmp(how, "end") == 0) {
        write_message(connection);
        _exit(5);
    }
    if (strcmp(how, "exec") == 0) execlp("sh", "sh", "-c", "exit 6", (char *)NULL);
    if (strcmp(how, "failed_exec") == 0) execlp("does-not-exist", "x", (char *)NULL);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "write") == 0) write_message(connection);
    if (strcmp(how, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, NULL, 0);
    }
}

static void was_handler_on_small_stack(void) {
    char *pages = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages, GUARD, PROT_NONE) == 0);
    stack_t stack = {.ss_sp = pages + GUARD, .ss_size = STACK};
    struct sigaction action = {.sa_handler = on_usr2, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0);
    connection = connect_to(client);
    exchange_all(connection, 0, client.count);
    next_message(client.count);
    raise(SIGUSR2);
    puts("returned");
    exit(0);
}
