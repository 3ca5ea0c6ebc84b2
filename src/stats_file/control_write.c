/* SPDX-License-Identifier: MIT */
#include "control_write.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { LOCK_TRIES = 100, LOCK_WAIT_NS = 10000000 };

/* The file begins with the header and the control block. */
enum { BEGINNING = offsetof(struct stats_file, row) };

static int lock(int fd) {
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        nanosleep(&(struct timespec){.tv_nsec = LOCK_WAIT_NS}, NULL);
    }
    return -EWOULDBLOCK;
}

/* The writer of a sequence lock.  A writer that died has left the sequence odd. */
static uint32_t write_block(struct stats_control *block, const struct stats_control *c) {
    uint32_t odd = __atomic_load_n(&block->sequence, __ATOMIC_RELAXED) | 1;
    struct stats_control next = *c;
    next.version = CONTROL_VERSION;
    next.sequence = odd;
    __atomic_store_n(&block->sequence, odd, __ATOMIC_RELAXED);
    /* release: a reader that sees one of these words sees the odd sequence */
    for (int w = 0; w < CONTROL_WORDS; w++)
        __atomic_store_n((control_word *)block + w, ((const control_word *)&next)[w],
                         __ATOMIC_RELEASE);
    uint32_t even = odd + 1 ? odd + 1 : 2; /* 0 means never written */
    __atomic_store_n(&block->sequence, even, __ATOMIC_RELEASE);
    return even;
}

static int64_t write_mapped(int fd, const struct stats_control *c) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_size < (off_t)STATS_BYTES)
        return -EINVAL;
    struct stats_file *s = mmap(NULL, BEGINNING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED)
        return -errno;
    int64_t result = -EINVAL;
    if (memcmp(s->header.magic, STATS_MAGIC, sizeof(s->header.magic)) == 0 &&
        s->header.version == STATS_VERSION)
        result = write_block(&s->control, c);
    munmap(s, BEGINNING);
    return result;
}

int64_t stats_control_write(int fd, const struct stats_control *c) {
    if (stats_control_wrong(c))
        return -EINVAL;
    int error = lock(fd);
    if (error)
        return error;
    int64_t result = write_mapped(fd, c);
    flock(fd, LOCK_UN);
    return result;
}
