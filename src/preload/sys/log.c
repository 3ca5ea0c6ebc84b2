/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <signal.h>
#include <string.h>

#include "raw.h"

static const char *log_target = "stderr";
static bool no_stderr;

void log_stderr_is(bool there) {
    STORE(&no_stderr, !there);
}

static int write_text(int fd, const struct text *t) {
    size_t done = 0;
    while (done < t->used) {
        long n = raw3(SYS_write, fd, t->at + done, t->used - done);
        if (n == -4 /* EINTR */)
            continue;
        if (n < 0)
            return (int)n;
        done += (size_t)n;
    }
    return 0;
}

/* A write to a pipe without a reader or to a file at its size limit raises SIGPIPE or SIGXFSZ.
 * The host must not see a signal of ours: it is blocked during the write and then consumed. */
static int write_all(int fd, const struct text *t) {
    uint64_t ours = UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1);
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

static void expand(struct text *path, const char *pattern) {
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'p') {
            text_number(path, raw0(SYS_getpid));
            pattern++;
        } else {
            text_add_n(path, pattern, 1);
        }
    }
}

int log_to(const char *target, const struct text *t) {
    if (strcmp(target, "stderr") == 0)
        return LOAD(&no_stderr) ? 0 : write_all(2, t);
    TEXT(path, PATH_MAX);
    expand(&path, target);
    long fd = raw4(SYS_openat, AT_FDCWD, path.at,
                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (fd < 0)
        return (int)fd;
    int error = write_all((int)fd, t);
    raw1(SYS_close, fd);
    return error;
}

void log_line(const struct text *t) {
    TEXT(line, 1024);
    text_add(&line, "unstall: ");
    text_add_n(&line, t->at, t->used);
    if (line.used == line.size - 1)
        line.used--;
    for (size_t i = 0; i < line.used; i++)
        if ((unsigned char)line.at[i] < ' ')
            line.at[i] = '?'; /* a value with a line break must not add a line */
    text_add(&line, "\n");
    if (log_to(log_target, &line) != 0 && strcmp(log_target, "stderr") != 0)
        log_to("stderr", &line);
}

void log_use(const char *target) {
    log_target = target;
}
