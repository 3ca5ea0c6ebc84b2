/* SPDX-License-Identifier: MIT
 *
 * I/O that does not pass by us (docs/design.md, "Where nothing is held"): the connection is marked, gets
 * TCP_NODELAY, and nothing is held on it.  stdio: libc's own writes and its close of a FILE.  POSIX AIO:
 * threads of libc make the calls.  So the connection is marked before its first request is queued, and its
 * buffered bytes are sent.  libc itself follows the pointers to requests, in the calling thread and at
 * once: a bad one is SIGSEGV without us, too.  So nothing is asked before we follow them.
 */
#include "exports.h"

/* ---- stdio -------------------------------------------------------------- */

FILE *exports_opened(FILE *stream, int fd) {
    if (stream)
        shim_untrack(fd);
    return stream;
}

EXPORT FILE *fdopen(int fd, const char *mode) {
    return exports_opened(REAL(fdopen)(fd, mode), fd);
}
ALSO(_IO_fdopen, fdopen)

/* The descriptor of a stream that is about to be closed is forgotten first. */
void exports_closes(FILE *stream) {
    int saved = errno;
    int fd = stream ? fileno(stream) : -1;
    errno = saved;
    if (fd >= 0)
        shim_closing(fd);
}

EXPORT int fclose(FILE *stream) FORWARD(exports_closes(stream), fclose, stream)
ALSO(_IO_fclose, fclose)

/* freopen of stderr keeps its meaning: the new stream is stderr too. */
static FILE *reopened(FILE *stream) {
    if (stream && fileno(stream) == STDERR_FILENO)
        log_stderr_is(true);
    return stream;
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream) {
    exports_closes(stream);
    return reopened(REAL(freopen)(path, mode, stream));
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream) {
    exports_closes(stream);
    return reopened(REAL(freopen64)(path, mode, stream));
}

/* dprintf writes through a FILE of its own: push held bytes first.  False: they stay in front of it. */
bool exports_prints(int fd) {
    if (aside_stands_behind(fd))
        return false;
    shim_other_write(fd);
    return shim_untrack(fd);
}

/* The text goes the way of any other write that cannot have the lock (reentry.h). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the format is the caller's */
int exports_prints_behind(int fd, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int bytes = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (bytes < 0)
        return bytes;
    char *text = raw_map((size_t)bytes + 1);
    if (!text) {
        errno = ENOMEM;
        return -1;
    }
    vsnprintf(text, (size_t)bytes + 1, format, arguments);
    size_t at = 0;
    for (ssize_t n = 1; at < (size_t)bytes && n > 0; at += n > 0 ? (size_t)n : 0) { /* as libc */
        const struct write_request o = {
            .fd = fd, .form = FORM_WRITE, .buffer = text + at, .bytes = (size_t)bytes - at};
        n = aside_write(&o);
    }
    raw_unmap(text, (size_t)bytes + 1);
    return at == (size_t)bytes ? bytes : -1;
}
#pragma GCC diagnostic pop

EXPORT int vdprintf(int fd, const char *format, va_list arguments) {
    return PRINTED(vdprintf, fd, format, arguments);
}
EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments) {
    return PRINTED(__vdprintf_chk, fd, flag, format, arguments);
}
EXPORT int dprintf(int fd, const char *format, ...) PRINT(vdprintf, fd, format, arguments)
EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...)
    PRINT(__vdprintf_chk, fd, flag, format, arguments)

/* ---- POSIX AIO ------------------------------------------------------------ */

_Static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64), "one layout, two names");

static void queues(const void *request) {
    const struct aiocb *block = request;
    process_gets_threads();
    shim_untrack(block->aio_fildes);
}

EXPORT int aio_read(struct aiocb *block) FORWARD(queues(block), aio_read, block)
EXPORT int aio_read64(struct aiocb64 *block) FORWARD(queues(block), aio_read64, block)
EXPORT int aio_write(struct aiocb *block) FORWARD(queues(block), aio_write, block)
EXPORT int aio_write64(struct aiocb64 *block) FORWARD(queues(block), aio_write64, block)

/* With a mode that libc does not know, libc refuses the call without a look at the list. */
void exports_queues(int mode, const void *list, int count) {
    const struct aiocb *const *requests = list;
    if (mode != LIO_WAIT && mode != LIO_NOWAIT)
        return;
    for (int i = 0; i < count; i++)
        if (requests[i] && requests[i]->aio_lio_opcode != LIO_NOP)
            queues(requests[i]);
    if (mode == LIO_WAIT)
        hold_end_turn(PUSH_WAIT);
}

EXPORT int lio_listio(int mode, struct aiocb *const list[restrict], int count, struct sigevent *event)
    FORWARD(exports_queues(mode, list, count), lio_listio, mode, list, count, event)
EXPORT int lio_listio64(int mode, struct aiocb64 *const list[restrict], int count, struct sigevent *event)
    FORWARD(exports_queues(mode, list, count), lio_listio64, mode, list, count, event)

#define SUSPEND(name) \
    FORWARD(if (!IS_ZERO(timeout, tv_nsec)) hold_end_turn(PUSH_WAIT), name, list, count, timeout)

EXPORT int aio_suspend(const struct aiocb *const list[], int count, const struct timespec *timeout)
    SUSPEND(aio_suspend)
EXPORT int aio_suspend64(const struct aiocb64 *const list[], int count, const struct timespec *timeout)
    SUSPEND(aio_suspend64)
#ifdef WITH_TIME64
EXPORT int __aio_suspend_time64(const struct aiocb *const list[], int count, const struct timespec64 *timeout)
    SUSPEND(__aio_suspend_time64)
#endif
