/* SPDX-License-Identifier: MIT */
#include "reader.h"

#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock_ns.h"
#include "reader_parts.h"

void reader_fail(struct reader_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    /* a path may have control characters; the error stays one line */
    for (unsigned char *c = (unsigned char *)error->text; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
}

/* ---- is it a statistics file? ----------------------------------------- */

static const char *kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFDIR: return "is a folder";
    case S_IFIFO: return "is a pipe";
    case S_IFSOCK: return "is a socket";
    case S_IFCHR:
    case S_IFBLK: return "is a device";
    default: return "is no regular file";
    }
}

#define EXPECTED \
    "expected a statistics file, PID-STARTED" STATS_SUFFIX ", as UNSTALL_STATS makes"

/* Checks the header as it is in the file, before anything is mapped. */
static bool is_stats_file(const struct stats_header *h, const struct stat *st, const char *path,
                       struct reader_error *error) {
    static const char nothing[sizeof(h->magic)];
    if (memcmp(h->magic, nothing, sizeof(nothing)) == 0)
        reader_fail(error,
                    "%s: has no header yet, or its process died before it wrote one; " EXPECTED,
                    path);
    else if (memcmp(h->magic, STATS_MAGIC, sizeof(h->magic)) != 0)
        reader_fail(error, "%s: is a file of another kind; " EXPECTED, path);
    else if (h->version == 0)
        reader_fail(error, "%s: is damaged (format 0); " EXPECTED, path);
    else if (h->version > STATS_VERSION && bswap_32(h->version) <= 0xffff)
        reader_fail(error, "%s: was written by a machine of the other byte order; read it there",
                    path);
    else if (h->version > STATS_VERSION)
        reader_fail(error,
                    "%s: is of format %" PRIu32
                    ", and this command reads up to %d; use the command "
                    "that came with the library",
                    path, h->version, STATS_VERSION);
    else if (h->header_bytes != sizeof(*h) || h->bytes != STATS_BYTES)
        reader_fail(error,
                    "%s: has another layout (%" PRIu64 " bytes, expected %zu): it is damaged, or "
                    "from another build; use the command that came with the library",
                    path, h->bytes, (size_t)STATS_BYTES);
    else if (st->st_size < (off_t)STATS_BYTES)
        reader_fail(error, "%s: is truncated: %jd bytes of %zu; nothing can be read from it", path,
                    (intmax_t)st->st_size, (size_t)STATS_BYTES);
    else if (st->st_size > (off_t)STATS_BYTES)
        reader_fail(error, "%s: is too large: %jd bytes, a statistics file has %zu; it is damaged", path,
                    (intmax_t)st->st_size, (size_t)STATS_BYTES);
    else
        return true;
    return false;
}

static bool look_at(int fd, const char *path, struct stat *st, struct reader_error *error) {
    if (fstat(fd, st) != 0) {
        reader_fail(error, "%s: %s", path, strerror(errno));
        return false;
    }
    if (!S_ISREG(st->st_mode)) {
        reader_fail(error, "%s: %s; " EXPECTED, path, kind_of(st->st_mode));
        return false;
    }
    struct stats_header header;
    memset(&header, 0, sizeof(header));
    ssize_t n = pread(fd, &header, sizeof(header), 0);
    if (n < 0) {
        reader_fail(error, "%s: %s", path, strerror(errno));
        return false;
    }
    if (n == 0) {
        reader_fail(error, "%s: is empty; " EXPECTED, path);
        return false;
    }
    if ((size_t)n < sizeof(header) &&
        memcmp(header.magic, STATS_MAGIC, sizeof(header.magic)) == 0) {
        reader_fail(error, "%s: is truncated: %zd bytes of %zu; nothing can be read from it", path,
                    n, (size_t)STATS_BYTES);
        return false;
    }
    return is_stats_file(&header, st, path, error);
}

/* ---- copying from a file that others may write or truncate ------------ */

static sigjmp_buf out_of_file;

static void truncated(int signal) {
    (void)signal;
    siglongjmp(out_of_file, 1);
}

void reader_copy(void *to, const void *from, size_t bytes) {
    uint64_t *words = to;
    const uint64_t *shared = from;
    for (size_t i = 0; i < bytes / sizeof(*words); i++)
        words[i] = __atomic_load_n(&shared[i], __ATOMIC_ACQUIRE);
}

/* Copies the pages that exist.  The library allocates pages as it needs them; a read of a hole through the
 * mapping would allocate a page, or raise SIGBUS if there is no room for it. */
static void copy_data(int fd, const char *shared, char *copy) {
    for (off_t at = 0; at < (off_t)STATS_BYTES;) {
        off_t data = lseek(fd, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return; /* the rest is a hole */
        off_t end = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
        if (data < at)
            data = at; /* the file system does not know its holes */
        if (end <= data || end > (off_t)STATS_BYTES)
            end = (off_t)STATS_BYTES;
        if (data < end)
            reader_copy(copy + data, shared + data, (size_t)(end - data));
        at = end;
    }
}

/* Copies through a mapping: read(2) does not promise to copy a word as a whole. */
static bool take_guarded(struct reader_file *r, int fd, const struct stats_file *shared,
                         struct stats_file *copy, unsigned want) {
    struct sigaction catch = {.sa_handler = truncated}, before;
    sigaction(SIGBUS, &catch, &before);
    volatile bool whole = false;
    if (sigsetjmp(out_of_file, 1) == 0) {
        copy_data(fd, (const char *)shared, (char *)copy);
        reader_take(r, copy, shared, want);
        whole = true;
    }
    sigaction(SIGBUS, &before, NULL);
    return whole;
}

static bool take(struct reader_file *r, int fd, unsigned want, struct reader_error *error) {
    struct stats_file *copy = mmap(NULL, STATS_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct stats_file *shared = mmap(NULL, STATS_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    bool mapped = copy != MAP_FAILED && shared != MAP_FAILED, whole = false;
    if (!mapped)
        reader_fail(error, "%s: cannot be mapped: %s", r->path, strerror(errno));
    else if (!(whole = take_guarded(r, fd, shared, copy, want)))
        reader_fail(error, "%s: was truncated while it was read; nothing can be read from it",
                    r->path);
    if (copy != MAP_FAILED)
        munmap(copy, STATS_BYTES);
    if (shared != MAP_FAILED)
        munmap(shared, STATS_BYTES);
    return whole;
}

static enum reader_life life_of(const struct reader_file *r) {
    if (r->header.ended_monotonic_ns)
        return LIFE_ENDED;
    int mapped = reader_maps((pid_t)r->header.pid, r->device, r->inode);
    if (mapped == -EACCES || mapped == -EPERM)
        return LIFE_UNKNOWN;
    return mapped == 1 ? LIFE_RUNS : LIFE_KILLED;
}

struct reader_file *reader_read_fd(int fd, const char *path, unsigned want,
                                      struct reader_error *error) {
    struct stat st;
    if (!look_at(fd, path, &st, error))
        return NULL;
    struct reader_file *r = calloc(1, sizeof(*r));
    if (!r || !reader_make_room(r, want)) {
        reader_fail(error, "%s: no memory to read it into", path);
        reader_free(r);
        return NULL;
    }
    snprintf(r->path, sizeof(r->path), "%s", path);
    r->device = st.st_dev;
    r->inode = st.st_ino;
    if (!take(r, fd, want, error)) {
        reader_free(r);
        return NULL;
    }
    r->taken_ns = clock_ns(CLOCK_MONOTONIC);
    r->life = life_of(r);
    return r;
}

struct reader_file *reader_read(const char *path, unsigned want, struct reader_error *error) {
    /* O_NONBLOCK: if the path is a pipe, do not wait for its writer */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        if (errno == ELOOP)
            reader_fail(error, "%s: is a symbolic link; give the statistics file itself", path);
        else
            reader_fail(error, "%s: %s; " EXPECTED, path, strerror(errno));
        return NULL;
    }
    struct reader_file *r = reader_read_fd(fd, path, want, error);
    close(fd);
    return r;
}

void reader_free(struct reader_file *r) {
    if (!r)
        return;
    free(r->rows);
    free(r->connections);
    free(r->modules);
    free(r->patterns);
    free(r);
}
