/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <unistd.h>

#include "raw.h"

/* ---- text ------------------------------------------------------------------ */

bool text_map(struct text *t, size_t bytes) {
    *t = (struct text){.at = raw_map(bytes), .size = bytes};
    return t->at != NULL;
}

void text_unmap(struct text *t) {
    raw_unmap(t->at, t->size);
}

static const char hexadecimal[] = "0123456789abcdef";

void text_add_n(struct text *t, const char *s, size_t n) {
    size_t room = t->size - 1 - t->used;
    if (n > room)
        n = room;
    memcpy(t->at + t->used, s, n);
    t->used += n;
    t->at[t->used] = '\0';
}

void text_add(struct text *t, const char *s) {
    text_add_n(t, s, strlen(s));
}

void text_number(struct text *t, int64_t n) {
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (n < 0)
        digits[--at] = '-';
    text_add_n(t, digits + at, sizeof(digits) - at);
}

/* Length of the UTF-8 sequence at s, or 0 if it is malformed (RFC 3629).  Surrogates and
 * overlong forms pass: JSON readers accept them. */
static size_t utf8(const char *s) {
    const unsigned char *u = (const unsigned char *)s;
    size_t n = u[0] >= 0xc2 && u[0] < 0xe0   ? 2
               : u[0] >= 0xe0 && u[0] < 0xf0 ? 3
               : u[0] >= 0xf0 && u[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void text_json(struct text *t, const char *s) {
    text_add(t, "\"");
    while (*s) {
        unsigned char c = (unsigned char)*s;
        size_t n = c < 0x80 ? 1 : utf8(s);
        if (n == 0 || c < 0x20 || c == 0x7f) {
            char escape[] = {'\\', 'u', '0', '0', hexadecimal[c >> 4], hexadecimal[c & 15]};
            text_add_n(t, escape, sizeof(escape));
            n = 1;
        } else {
            if (c == '"' || c == '\\')
                text_add_n(t, "\\", 1);
            text_add_n(t, s, n);
        }
        s += n;
    }
    text_add(t, "\"");
}

static void text_print_list(struct text *t, const char *form, va_list list) {
    for (const char *s; *form; form++) {
        if (*form != '%') {
            text_add_n(t, form, 1);
            continue;
        }
        switch (*++form) {
        case 's': text_add(t, va_arg(list, const char *)); break;
        case 'v': s = va_arg(list, const char *), text_add_n(t, s, strnlen(s, 300)); break;
        case 'j': text_json(t, va_arg(list, const char *)); break;
        case 'd': text_number(t, va_arg(list, long)); break;
        case 'x': {
            uint64_t n = va_arg(list, uint64_t);
            for (int shift = 60; shift >= 0; shift -= 4)
                text_add_n(t, &hexadecimal[n >> shift & 15], 1);
        }
        }
    }
}

void text_print(struct text *t, const char *form, ...) {
    va_list list;
    va_start(list, form);
    text_print_list(t, form, list);
    va_end(list);
}

/* ---- output ---------------------------------------------------------------- */

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
    struct timespec rest = {.tv_sec = LOAD(&gave_up) ? 0 : 1};
    long ready;
    do
        ready = raw5(SYS_ppoll, &wait, 1, &rest, NULL, 0); /* updates `rest` */
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

enum { IDENTITY = 48 };

static char journal[IDENTITY]; /* DEVICE:INODE of its socket, as systemd writes it */

void log_start(const char *journal_stream) {
    if (journal_stream)
        strncpy(journal, journal_stream, sizeof(journal) - 1);
}

/* The other end of a socket is a peer: an inetd service's, which would take our words for the program's.  But
 * of a service's journal systemd tells the socket. */
static bool is_peers(int fd) {
    raw_stat st = {0};
    TEXT(identity, IDENTITY);
    if (raw4(RAW_STAT_AT, fd, "", &st, AT_EMPTY_PATH) != 0 || !S_ISSOCK(st.st_mode))
        return false;
    text_number(&identity, (int64_t)st.st_dev);
    text_add(&identity, ":");
    text_number(&identity, (int64_t)st.st_ino);
    return strcmp(identity.at, journal) != 0;
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
