/* SPDX-License-Identifier: MIT
 *
 * libFuzzer target: sequences of calls through the whole core (shim, policy, hold, buffer) over a network of
 * memory, against a simple model. At any time
 *
 *   - the kernel's bytes, followed by those in the coalesce buffer, are the application's: none lost, doubled
 *     or out of order (net.c checks each byte by its place);
 *   - after a turn's end, and after a window, nothing is held or buffered, except bytes without room;
 *   - EAGAIN is returned only if a send made within the call met a full buffer;
 *   - the next write returns an error of the connection, once it was met;
 *   - TCP_NODELAY reads back as the application has set it, also for the next owner of the socket;
 *   - no lock stays taken and nothing reaches a descriptor that is closed.
 *
 * Input: an operation a byte, with its arguments in the bytes that follow.
 */
#include <assert.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "fds.h"
#include "coalesce_buffer.h"
#include "turn.h"
#include "net.h"
#include "process.h"
#include "shim.h"
#include "fuzz_window.h"

enum { FIRST_FD = 10, LAST_FD = 19, MOST_OPERATIONS = 300, LARGEST = 6000 };

/* Time is of the model too, so that a sequence runs the same way every time. */
enum { OPERATION_NS = 20000, WINDOW_NS = 1000000 };

static bool traced; /* FUZZ_TRACE=1: each operation and its first arguments, to read a crash by */

struct input {
    const uint8_t *at;
    size_t left;
};

static uint8_t next(struct input *in) {
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static int peek(const struct input *in, size_t ahead) {
    return ahead < in->left ? in->at[ahead] : 0;
}

static int some_fd(struct input *in) {
    return FIRST_FD + next(in) % (LAST_FD - FIRST_FD + 1);
}

/* ---- invariants --------------------------------------------------- */

static size_t buffered_for(const struct net_socket *s) {
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        struct conn *c = net.leads[fd] == s ? fds_conn(fds_word(fd)) : NULL;
        if (c)
            return buffer_length(c);
    }
    return 0;
}

static void check_streams(void) {
    assert(self.depth == 0 && !self.locked);
    for (int i = 0; i < SOCKETS; i++) {
        const struct net_socket *s = &net.sockets[i];
        assert(s->taken <= s->written);
        if (s->descriptors && !s->dead)
            assert(s->taken + buffered_for(s) == s->written && "lost, or not accepted");
    }
}

static void check_nothing_held(void) {
    for (int i = 0; i < SOCKETS; i++) {
        const struct net_socket *s = &net.sockets[i];
        if (!s->descriptors || s->dead)
            continue;
        if (!s->app_more && !s->cork && buffered_for(s) == 0) /* buffered bytes will push it */
            assert(s->withheld == 0 && "held after the end of the turn");
        if (!s->sndbuf_maybe_full && !net.excused)
            assert(buffered_for(s) == 0 && "buffered after the end of the turn");
    }
}

static void check_turn_is_over(void) {
    assert(!self.turn);
    check_nothing_held();
}

/* ---- writes ----------------------------------------------------------- */

static size_t some_length(struct input *in) {
    uint8_t n = next(in);
    return n < 200 ? n : n < 240 ? (size_t)(n - 199) * 40 : (size_t)(n - 239) * (LARGEST / 16);
}

static ssize_t put(int fd, size_t bytes, int form, int flags) {
    static char buffer[LARGEST];
    struct net_socket *s = net_of(fd);
    if (s)
        net_fill(s, s->written, buffer, bytes);
    struct iovec parts[3] = {{buffer, bytes / 3},
                             {buffer + bytes / 3, bytes / 3},
                             {buffer + bytes / 3 * 2, bytes - bytes / 3 * 2}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    bool flagless = form == FORM_WRITE || form == FORM_WRITEV || form == FORM_PWRITEV2;
    struct write_request out = {
        .fd = fd,
        .form = (enum out_form)form,
        .flags = flagless ? 0 : flags,
        .buffer = buffer,
        .bytes = bytes,
        .iov = parts,
        .iov_count = 3,
        .message = form == FORM_SENDMSG ? &message : NULL,
    };
    /* as the exported names do */
    bool plain = form == FORM_WRITE || form == FORM_SEND || form == FORM_SENDTO;
    ssize_t sent = plain ? shim_write_fast(fd, buffer, bytes, out.flags, out.form, 0) : shim_write(&out);
    if (sent > 0 && s) {
        s->written += (uint64_t)sent;
        s->app_more = (out.flags & MSG_MORE) != 0;
    }
    return sent;
}

static void op_write(struct input *in) {
    static const int all_flags[] = {
        0, 0, 0, MSG_MORE, MSG_DONTWAIT, MSG_NOSIGNAL, MSG_MORE | MSG_DONTWAIT, MSG_OOB};
    int fd = some_fd(in), form = next(in) % 6, flags = all_flags[next(in) % 8];
    size_t bytes = some_length(in);
    struct net_socket *s = net_of(fd);
    if (!s)
        return;
    if (form == FORM_WRITE || form == FORM_WRITEV || form == FORM_PWRITEV2)
        flags = 0;
    bool dead = s->told;
    net.refused = false;
    ssize_t sent = put(fd, bytes, form, flags);
    int error = errno;
    assert(sent <= (ssize_t)bytes);
    if (sent < 0) {
        assert(error != EAGAIN || net.refused);
        assert(error == EAGAIN || s->dead);
    } else if (!s->non_blocking && !(flags & MSG_DONTWAIT)) {
        assert((size_t)sent == bytes || s->dead);
    }
    if (dead && bytes > 0)
        assert(sent < 0 && "an error that was met is not told");
}

/* sendfile, splice: the core sees how much was moved. */
static void op_bulk(struct input *in) {
    static char buffer[LARGEST];
    int fd = some_fd(in);
    size_t bytes = some_length(in);
    bool more = next(in) & 1;
    struct net_socket *s = net_of(fd);
    struct call call;
    if (!s || bytes == 0)
        return;
    net.refused = false;
    if (shim_bulk_begins(fd, 0, false, &call) != BULK_GOES) {
        assert(s->dead || (errno == EAGAIN && net.refused));
        return;
    }
    net_fill(s, s->written, buffer, bytes);
    ssize_t moved = net_send(fd, buffer, bytes, more ? MSG_MORE : 0);
    if (moved > 0) {
        s->written += (uint64_t)moved;
        s->app_more = more;
    }
    shim_bulk_ended(call, fd, 1, moved, more, 0);
}

/* ---- reads and waits --------------------------------------------------- */

static void op_read(struct input *in) {
    int fd = next(in) & 1 ? PIPE_FD : some_fd(in);
    struct net_socket *s = net_of(fd);
    bool dont_wait = next(in) % 4 == 0;
    size_t got = 1 + next(in);
    if (!s && fd != PIPE_FD)
        return;
    struct call call = shim_read_begins(fd, dont_wait);
    if (!dont_wait)
        check_turn_is_over();
    bool fills = next(in) & 1;
    if (s && s->dead && s->dead != EPIPE) {
        errno = s->dead;
        s->dead = EPIPE;
        s->told = true;
        shim_read_ends(call, -1, got);
        return;
    }
    if (s)
        s->received += got;
    shim_read_ends(call, (ssize_t)got, fills && got ? got : 2 * got + 2); /* not 0 or 1: shim.h */
}

static void op_wait(struct input *in) {
    (void)in;
    hold_end_turn(PUSH_WAIT);
    check_turn_is_over();
}

static void op_poll(struct input *in) {
    bool only_writable = next(in) & 1, at_once = next(in) & 1;
    if (!self.turn)
        return;
    if (hold_before_poll(only_writable)) {
        hold_asked(at_once);
        if (at_once)
            return;
        hold_end_turn(PUSH_WAIT);
    }
    check_nothing_held();
}

/* A pipe may block, a file may not. */
static void op_write_elsewhere(struct input *in) {
    static const int places[] = {PIPE_FD, FILE_FD, UNIX_FD};
    int fd = places[next(in) % 3];
    put(fd, 10, FORM_WRITE, 0);
    if (fd != FILE_FD)
        check_nothing_held();
}

static void op_window(struct input *in) {
    (void)in;
    net.passing = 0;
    net.excused = false;
    for (int i = 0; i < SOCKETS; i++)
        net.sockets[i].sndbuf_maybe_full = false;
    clock_stopped += WINDOW_NS;
    window_ends();
    check_nothing_held();
}

/* ---- descriptors -------------------------------------------------------- */

static void open_socket(int fd, uint8_t how) {
    int index = 0;
    while (index < SOCKETS && (net.sockets[index].descriptors ||
                               net.sockets[index].written > net.sockets[index].taken))
        index++;
    if (index == SOCKETS || net_of(fd))
        return;
    net_open(index, fd);
    struct net_socket *s = net_of(fd);
    s->non_blocking = how & 1;
    s->cloexec = how & 2;
    if (how & 4) {
        shim_socket_made(fd, AF_INET, SOCK_STREAM, 0);
        struct call call = shim_connect_begins(fd);
        struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = 80};
        errno = EINPROGRESS;
        shim_connect_ended(call, how & 8 ? 0 : -1, (struct sockaddr *)&peer, sizeof(peer));
    } else {
        fds_forget(fd); /* received, or inherited: known by its first use */
    }
}

static void op_open(struct input *in) {
    int fd = some_fd(in);
    open_socket(fd, next(in));
}

static void close_descriptor(int fd) {
    struct net_socket *s = net_of(fd);
    if (!s)
        return;
    shim_closing(fd);
    net_close(fd);
}

static void op_close(struct input *in) {
    int fd = some_fd(in);
    if (!net_of(fd))
        return;
    close_descriptor(fd);
    check_nothing_held();
}

static void op_dup(struct input *in) {
    int fd = some_fd(in), copy = some_fd(in);
    if (!net_of(fd) || net_of(copy))
        return;
    net_dup(fd, copy);
    shim_duplicated(fd, copy);
}

static void op_dup2(struct input *in) {
    int fd = some_fd(in), copy = some_fd(in);
    if (!net_of(fd) || fd == copy)
        return;
    shim_replacing(fd, copy);
    check_nothing_held();
    net_close(copy);
    net_dup(fd, copy);
    shim_duplicated(fd, copy);
}

static void op_shutdown(struct input *in) {
    int fd = some_fd(in);
    struct net_socket *s = net_of(fd);
    if (!s)
        return;
    shim_shuts(fd, SHUT_WR);
    check_turn_is_over();
    s->withheld = 0;
    if (!s->dead)
        s->dead = EPIPE;
}

static void op_untrack(struct input *in) {
    int fd = some_fd(in);
    if (net_of(fd))
        shim_untrack(fd);
}

/* ---- options ------------------------------------------------------------ */

static void op_set_option(struct input *in) {
    int fd = some_fd(in), on = next(in) & 1, name = next(in) & 1 ? TCP_NODELAY : TCP_CORK;
    struct net_socket *s = net_of(fd);
    if (!s)
        return;
    shim_option_setting(fd, IPPROTO_TCP, name);
    if (name == TCP_NODELAY)
        s->nodelay = s->app_nodelay = on;
    else
        s->cork = on;
    if (on == (name == TCP_NODELAY))
        s->withheld = 0;
    shim_option_set(fd, IPPROTO_TCP, name, &on, sizeof(on));
}

static void op_get_option(struct input *in) {
    int fd = some_fd(in);
    struct net_socket *s = net_of(fd);
    if (!s)
        return;
    int value = s->nodelay;
    shim_option_got(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value));
    assert(!!value == s->app_nodelay && "what the application reads back is what it set");
}

static void op_get_error(struct input *in) {
    int value = 0;
    shim_option_got(some_fd(in), SOL_SOCKET, SO_ERROR, &value, sizeof(value));
}

/* ---- processes, modes ---------------------------------------------------- */

/* By whichever of its numbers. */
static bool is_untracked(const struct net_socket *s) {
    for (int fd = FIRST_FD; fd <= LAST_FD; fd++) {
        const struct conn *c = fds_conn(fds_word(fd));
        if (net_of(fd) == s && c && c->policy.untracked_io)
            return true;
    }
    return false;
}

static void op_run_program(struct input *in) {
    (void)in;
    net.passing = 0;
    process_runs_program();
    check_turn_is_over();
    for (int fd = FIRST_FD; fd <= LAST_FD; fd++) {
        const struct net_socket *s = net_of(fd);
        if (s && !s->dead && !is_untracked(s)) /* a untracked one keeps it: nobody could set it again */
            assert(s->nodelay == s->app_nodelay && "the next program would take ours for its own wish");
    }
}

static void op_fork(struct input *in) {
    (void)in;
    net.passing = 0;
    process_forks();
    check_turn_is_over();
}

static void op_mode(struct input *in) {
    config_switch((enum mode)(next(in) % MODES), false);
    if (next(in) & 1)
        sweep(PUSH_MODE);
}

/* ---- the world around ----------------------------------------------------- */

static void op_full(struct input *in) {
    struct net_socket *s = net_of(some_fd(in));
    if (s)
        s->room = next(in) & 1 ? 0 : next(in);
}

static void op_peer_reads(struct input *in) {
    (void)in;
    net_peer_reads();
}

static void op_reset(struct input *in) {
    struct net_socket *s = net_of(some_fd(in));
    if (s && !s->dead)
        s->dead = next(in) & 1 ? ECONNRESET : EPIPE;
}

static void op_fail_once(struct input *in) {
    static const int errors[] = {EINTR, ENOBUFS, ENOMEM, EAGAIN};
    net.passing = errors[next(in) % 4];
}

static void op_no_descriptors(struct input *in) {
    net.no_descriptors = next(in) & 1;
}

static int handler_fd;

static void handler(void) {
    int saved = errno;
    put(handler_fd, 20, FORM_WRITE, 0);
    net_of(handler_fd)->told = false; /* it passes straight through: the core learns nothing by it */
    errno = saved;
}

/* A signal handler writes to another connection inside the next send. */
static void op_handler(struct input *in) {
    handler_fd = some_fd(in);
    if (!self.turn || !net_of(handler_fd) || fds_conn(fds_word(handler_fd)) == self.turn ||
        fds_word(handler_fd) == FDS_UNKNOWN)
        return;
    net.meanwhile = handler;
    hold_end_turn(PUSH_WAIT);
    net.meanwhile = NULL;
}

/* ---- the fuzzer ------------------------------------------------------------ */

#define OPERATION(name) {#name, op_##name}

/* Writes stand there several times: the target is about them. */
static const struct {
    const char *name;
    void (*act)(struct input *in);
} operations[] = {
    OPERATION(write),       OPERATION(write),       OPERATION(write),      OPERATION(write),
    OPERATION(write),       OPERATION(write),       OPERATION(read),       OPERATION(read),
    OPERATION(wait),        OPERATION(poll),        OPERATION(window),     OPERATION(write_elsewhere),
    OPERATION(open),        OPERATION(close),       OPERATION(dup),        OPERATION(dup2),
    OPERATION(shutdown),    OPERATION(untrack),      OPERATION(set_option), OPERATION(get_option),
    OPERATION(get_error),   OPERATION(run_program), OPERATION(fork),       OPERATION(mode),
    OPERATION(full),        OPERATION(peer_reads),  OPERATION(reset),      OPERATION(fail_once),
    OPERATION(handler),     OPERATION(bulk),        OPERATION(no_descriptors),
};

static void finish(void) {
    net.passing = 0;
    hold_end_turn(PUSH_PROCESS);
    for (int fd = FIRST_FD; fd <= LAST_FD; fd++)
        close_descriptor(fd);
    net_peer_reads();
    window_ends();
    for (int i = 0; i < SOCKETS; i++) {
        const struct net_socket *s = &net.sockets[i];
        assert(s->descriptors == 0);
        if (!s->dead && !net.no_descriptors)
            assert(s->taken == s->written && "accepted and never sent");
    }
    window_forget();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    signal(SIGPIPE, SIG_IGN);
    traced = getenv("FUZZ_TRACE") != NULL;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data, size};
    clock_start(); /* else it is a system call, and no read is timed */
    clock_stopped = 1;
    net_start();
    fds_set(FILE_FD, FDS_UNKNOWN);
    fds_set(PIPE_FD, FDS_UNKNOWN);
    fds_set(UNIX_FD, FDS_UNKNOWN);
    config_switch((enum mode)(next(&in) % MODES), false);
    open_socket(FIRST_FD, 4 | 8);
    open_socket(FIRST_FD + 1, next(&in));
    for (int i = 0; i < MOST_OPERATIONS && in.left; i++) {
        size_t chosen = next(&in) % ARRAY_SIZE(operations);
        if (traced)
            fprintf(stderr, "%s %d %d %d\n", operations[chosen].name, peek(&in, 0), peek(&in, 1),
                    peek(&in, 2));
        clock_stopped += OPERATION_NS;
        operations[chosen].act(&in);
        check_streams();
    }
    finish();
    return 0;
}
