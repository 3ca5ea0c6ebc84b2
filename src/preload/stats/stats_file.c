/* SPDX-License-Identifier: MIT
 *
 * Makes the statistics file.  An error costs one line of warning and the statistics; it
 * never harms the host.  Each page must exist before a counter touches it (else SIGBUS), and
 * writeback must not block the host (therefore tmpfs only).
 */
#include "stats_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "config.h"
#include "log.h"
#include "raw.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum { PAGE = 4096 };
enum { OTHERS_WRITE = S_IWGRP | S_IWOTH, LONGEST_PATH = 1024 };

struct stats_file *stats_file_mapped;

/* One line for a process and all its forks: a child inherits `told`. */
static void warn(const char *directory, const char *what, int error) {
    static bool told;
    if (told)
        return;
    told = true;
    log_line(error ? "UNSTALL_STATS=%v: %s (errno %d); no statistics" : "UNSTALL_STATS=%v: %s; no statistics",
             directory, what, (long)-error);
}

static bool file_system(int fd, uint32_t *type) {
#ifdef SYS_fstatfs64
    struct statfs64 fs = {0};
    long error = raw3(SYS_fstatfs64, fd, sizeof(fs), &fs);
#else
    struct statfs fs = {0};
    long error = raw2(SYS_fstatfs, fd, &fs);
#endif
    *type = (uint32_t)fs.f_type;
    return error == 0;
}

/* The reason to refuse the directory, or NULL. */
static const char *refused(int fd) {
    raw_stat st = {0};
    uint32_t type = 0;
    if (raw4(RAW_STAT_AT, fd, "", &st, AT_EMPTY_PATH) != 0 || !file_system(fd, &type))
        return "cannot be looked at";
    if (st.st_uid != (uid_t)raw0(SYS_geteuid) || (st.st_mode & OTHERS_WRITE))
        return "expected a directory of the process's own user, writable by no other user, as "
               "\"mkdir -m 700 /dev/shm/unstall\" makes it";
    if (type != TMPFS_MAGIC)
        return "expected a directory on tmpfs, as below /dev/shm: on a disk the writing back of "
               "pages could block the program";
    return NULL;
}

/* Opens the directory, but no symbolic link to one. */
static int open_directory(const char *directory) {
    int fd = (int)raw4(SYS_openat, AT_FDCWD, directory,
                       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd >= 0) {
        const char *wrong = refused(fd);
        if (!wrong)
            return fd;
        warn(directory, wrong, 0);
        raw1(SYS_close, fd);
        return -EACCES;
    }
    if (fd == -ENOENT)
        warn(directory, "there is no such directory, make one by \"mkdir -m 700\"", 0);
    else if (fd == -ENOTDIR || fd == -ELOOP)
        warn(directory, "expected a directory, and no symbolic link to one", 0);
    else
        warn(directory, "cannot be opened", fd);
    return fd;
}

/* Beyond this limit ftruncate(2) would raise SIGXFSZ in the host. */
static bool limit_allows(void) {
    struct rlimit64 limit = {0};
    return raw4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 ||
           limit.rlim_cur >= (rlim64_t)STATS_BYTES;
}

static bool whole; /* all of the file is reserved */

static bool populate(const void *part, size_t bytes) {
    uintptr_t first = (uintptr_t)part & ~(uintptr_t)(PAGE - 1);
    uintptr_t last = ((uintptr_t)part + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    return raw3(SYS_madvise, first, last - first, MADV_POPULATE_WRITE) == 0;
}

bool stats_file_reserve(const void *part, size_t bytes) {
    return whole || (!config()->no_syscalls && populate(part, bytes));
}

/* Reserves the parts that are needed from the start; later ones follow on demand.  A kernel
 * without MADV_POPULATE_WRITE reserves the whole file. */
static bool reserve(const struct stats_file *s, int fd) {
    bool good = populate(s, offsetof(struct stats_file, shard[1]));
    if (!good) {
#if __SIZEOF_LONG__ == 4 /* two halves each */
        whole = raw6(SYS_fallocate, fd, 0, 0, 0, STATS_BYTES, 0) == 0;
#else
        whole = raw4(SYS_fallocate, fd, 0, 0, STATS_BYTES) == 0;
#endif
        return whole;
    }
    good = populate(s->module, sizeof(s->module));
    for (int i = 0; good && i < STATS_PATTERNS; i++)
        good = populate(&s->pattern[i], offsetof(struct stats_pattern, occurrence));
    return good;
}

static struct stats_file *map(int fd, const char *directory) {
    whole = false;
    long error = limit_allows() ? raw2(SYS_ftruncate, fd, STATS_BYTES) : -EFBIG;
    if (error == 0) {
        long p = raw_mmap(STATS_BYTES, MAP_SHARED, fd);
        if (p >= 0 || p <= -4096) {
            if (reserve((struct stats_file *)p, fd))
                return (struct stats_file *)p;
            raw2(SYS_munmap, p, STATS_BYTES);
            warn(directory, "the file system has no room for a statistics file", 0);
            return NULL;
        }
        error = p;
    }
    warn(directory, "no statistics file (4 MiB) can be made there", (int)error);
    return NULL;
}

/* Opens the directory without the slashes at its end: "link/" would follow the link. */
static int open_trimmed(const char *path) {
    struct text directory;
    int at = -ENAMETOOLONG;
    if (!text_map(&directory, LONGEST_PATH))
        return -ENOMEM;
    text_add(&directory, path);
    if (path[directory.used]) {
        warn(path, "expected a shorter path, of less than 1024 bytes", 0);
    } else {
        while (directory.used > 1 && directory.at[directory.used - 1] == '/')
            directory.at[--directory.used] = '\0';
        at = open_directory(directory.at);
    }
    text_unmap(&directory);
    return at;
}

struct stats_file *stats_file(const char *path, uint64_t started_ns) {
    int at = open_trimmed(path);
    if (at < 0)
        return NULL;
    TEXT(name, 64);
    text_print(&name, "%d-%x" STATS_SUFFIX, raw0(SYS_getpid), started_ns);
    struct stats_file *s = NULL;
    int fd = (int)raw4(SYS_openat, at, name.at, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC,
                       0600);
    if (fd < 0) {
        warn(path, "no file can be made there", fd);
    } else {
        raw2(SYS_fchmod, fd, 0600); /* the umask may have removed bits */
        s = map(fd, path);
        if (!s)
            raw3(SYS_unlinkat, at, name.at, 0);
        raw1(SYS_close, fd);
    }
    raw1(SYS_close, at);
    return s;
}
