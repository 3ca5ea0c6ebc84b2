/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "raw.h"

enum { LONGEST_LINE = 1024 };

static const char *log_target = "stderr";
static bool no_stderr;

void log_stderr_is(bool there) {
    STORE(&no_stderr, !there);
}

/* stderr may be a full pipe that nobody reads: waits a second for room, and later texts not at all.  poll(2)
 * tells of room for PIPE_BUF bytes. */
static bool has_room(int fd) {
    static bool gave_up;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    struct timespec left = {.tv_sec = LOAD(&gave_up) ? 0 : 1};
    long ready;
    do
        ready = raw5(SYS_ppoll, &wait, 1, &left, NULL, 0); /* updates `left` */
    while (ready == -EINTR);
    STORE(&gave_up, ready == 0);
    return ready != 0;
}

static int write_text(int fd, const struct text *t) {
    size_t done = 0;
    while (done < t->used) {
        size_t part = t->used - done;
        if (fd == STDERR_FILENO && part > PIPE_BUF)
            part = PIPE_BUF;
        if (fd == STDERR_FILENO && !has_room(fd))
            return -EAGAIN;
        long n = raw3(SYS_write, fd, t->at + done, part);
        if (n == -EINTR)
            continue;
        if (n < 0)
            return (int)n;
        done += (size_t)n;
    }
    return 0;
}

/* A write to a pipe without a reader or to a file at its size limit raises SIGPIPE or SIGXFSZ, a background
 * process's write to a terminal with TOSTOP raises SIGTTOU.  The host must not see a signal of ours: it is
 * blocked during the write and then consumed.  While SIGTTOU is blocked, the kernel writes. */
static int write_all(int fd, const struct text *t) {
    uint64_t ours =
        UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1) | UINT64_C(1) << (SIGTTOU - 1);
    uint64_t before = raw_block_signals(ours), pending = 0;
    struct timespec none = {0, 0};
    raw2(SYS_rt_sigpending, &pending, RAW_SIGSET);
    int error = write_text(fd, t);
    uint64_t raised = ours & ~pending;
    if (error && raised)
        raw4(SYS_rt_sigtimedwait, &raised, NULL, &none, RAW_SIGSET);
    raw_set_signals(before);
    return error;
}

static struct { unsigned long device, inode; } journal;

/* The decimal number at `*at`, which goes behind it and one character more. */
static unsigned long number_at(const char **at) {
    unsigned long n = 0;
    while (**at >= '0' && **at <= '9')
        n = n * 10 + (unsigned long)(*(*at)++ - '0');
    *at += **at != '\0';
    return n;
}

void log_start(const char *journal_stream) {
    if (!journal_stream)
        return;
    journal.device = number_at(&journal_stream);
    journal.inode = number_at(&journal_stream);
}

/* The other end of a socket is a peer: an inetd service's, which would take our words for the program's.  But
 * of a service's journal systemd tells the socket. */
static bool is_peers(int fd) {
    raw_stat st = {0};
    return raw4(RAW_STAT_AT, fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISSOCK(st.st_mode) &&
           (st.st_ino != journal.inode || st.st_dev != journal.device);
}

/* Opens `target`, in which %p is the process id. */
static long open_named(const char *target) {
    enum { FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };
    struct text path;
    if (!strstr(target, "%p"))
        return raw4(SYS_openat, AT_FDCWD, target, FLAGS, 0600);
    if (!text_map(&path, PATH_MAX))
        return -ENOMEM;
    for (const char *at = target; *at; at++)
        if (at[0] == '%' && at[1] == 'p') {
            text_number(&path, raw0(SYS_getpid));
            at++;
        } else {
            text_add_n(&path, at, 1);
        }
    long fd = raw4(SYS_openat, AT_FDCWD, path.at, FLAGS, 0600);
    text_unmap(&path);
    return fd;
}

int log_to(const char *target, const struct text *t) {
    if (strcmp(target, "stderr") == 0)
        return LOAD(&no_stderr) || is_peers(STDERR_FILENO) ? 0 : write_all(STDERR_FILENO, t);
    long fd = open_named(target);
    if (fd < 0)
        return (int)fd;
    int error = write_all((int)fd, t);
    raw1(SYS_close, fd);
    return error;
}

void log_line(const char *form, ...) {
    struct text line;
    va_list list;
    if (!text_map(&line, LONGEST_LINE))
        return;
    va_start(list, form);
    text_add(&line, "unstall: ");
    text_print_list(&line, form, list);
    va_end(list);
    if (line.used == line.size - 1)
        line.used--;
    for (size_t i = 0; i < line.used; i++)
        if ((unsigned char)line.at[i] < ' ')
            line.at[i] = '?'; /* a value with a line break must not add a line */
    text_add(&line, "\n");
    if (log_to(log_target, &line) != 0 && strcmp(log_target, "stderr") != 0)
        log_to("stderr", &line);
    text_unmap(&line);
}

void log_use(const char *target) {
    log_target = target;
}
