/* SPDX-License-Identifier: MIT
 *
 * stdio: its writes and its close never pass by us (docs/design.md).  So the connection of a
 * FILE is marked as untracked I/O: it gets TCP_NODELAY and no hold.
 */
#include "exports.h"
#include "log.h"

/* The descriptor of a stream that is about to be closed is forgotten first. */
void exports_closes(FILE *stream) {
    int saved = errno;
    int fd = stream ? fileno(stream) : -1;
    errno = saved;
    if (fd >= 0)
        shim_closing(fd);
}

/* dprintf writes through a FILE of its own: push held bytes first. */
void exports_prints(int fd) {
    shim_other_write(fd);
    shim_untrack(fd);
}

EXPORT FILE *fdopen(int fd, const char *mode) {
    FILE *stream = REAL(fdopen)(fd, mode);
    if (stream)
        shim_untrack(fd);
    return stream;
}
ALSO(_IO_fdopen, fdopen)

EXPORT FORWARD(exports_closes(stream), int, fclose, (FILE * stream), (stream))
ALSO(_IO_fclose, fclose)

/* freopen of stderr keeps its meaning: the new stream is stderr too. */
static FILE *reopened(FILE *stream) {
    if (stream && fileno(stream) == STDERR_FILENO)
        log_stderr_is(true);
    return stream;
}

#define REOPENS(name)                                                     \
    EXPORT FILE *name(const char *path, const char *mode, FILE *stream) { \
        exports_closes(stream);                                           \
        return reopened(REAL(name)(path, mode, stream));                  \
    }

REOPENS(freopen)
REOPENS(freopen64)

EXPORT FORWARD(exports_prints(fd), int, vdprintf, (int fd, const char *format, va_list arguments),
               (fd, format, arguments))

EXPORT PRINTS(dprintf, vdprintf, (int fd, const char *format, ...), (fd, format, list))

EXPORT FORWARD(exports_prints(fd), int, __vdprintf_chk,
               (int fd, int flag, const char *format, va_list arguments), (fd, flag, format, arguments))

EXPORT PRINTS(__dprintf_chk, __vdprintf_chk, (int fd, int flag, const char *format, ...),
              (fd, flag, format, list))
