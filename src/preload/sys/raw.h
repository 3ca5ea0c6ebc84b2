/* SPDX-License-Identifier: MIT
 *
 * The library's own system calls, made without libc: they are no cancellation points, do not touch errno and
 * return -errno.  The application's calls go to the next libc function instead (real.h).
 */
#ifndef UNSTALL_RAW_H
#define UNSTALL_RAW_H

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "machine.h"

#define raw0(n)                raw6(n, 0, 0, 0, 0, 0, 0)
#define raw1(n, a)             raw6(n, (long)(a), 0, 0, 0, 0, 0)
#define raw2(n, a, b)          raw6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define raw3(n, a, b, c)       raw6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define raw4(n, a, b, c, d)    raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define raw5(n, a, b, c, d, e) raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/* ---- calls whose 32-bit form differs ------------------------------------ */

/* All times are passed in the kernel's older form, with time_t of the size of a long.  They are intervals or
 * CLOCK_MONOTONIC, so 32 bits suffice; kernels before 5.1 lack the other form. */

#ifdef SYS_newfstatat
typedef struct stat raw_stat;
enum { RAW_STAT_AT = SYS_newfstatat };
#else
typedef struct stat64 raw_stat;
enum { RAW_STAT_AT = SYS_fstatat64 };
#endif

/* Readable and writable memory, at an address of the kernel's choice.  -4095 to -1: an error. */
static inline long raw_mmap(size_t bytes, int flags, int fd) {
#if defined(SYS_mmap2)
    return raw6(SYS_mmap2, 0, (long)bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
#elif defined(__s390x__)
    const long arguments[] = {0, (long)bytes, PROT_READ | PROT_WRITE, flags, fd, 0};
    return raw1(SYS_mmap, arguments);
#else
    return raw6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
#endif
}

/* The two halves of an offset, as preadv2(2) takes them; a 64-bit kernel ignores the upper one. */
#if __SIZEOF_LONG__ == 4
#define RAW_HALVES(offset) (long)(offset), (long)((int64_t)(offset) >> 32)
#else
#define RAW_HALVES(offset) (long)(offset), 0
#endif

/* ---- signals, and time -------------------------------------------------- */

enum { RAW_SIGSET = 8 /* bytes, rt_sigprocmask(2) */ };

/* Block signals (bit n - 1: signal n).  The mask as it was, for raw_set_signals(). */
static inline uint64_t raw_block_signals(uint64_t signals) {
    uint64_t before = 0;
    raw4(SYS_rt_sigprocmask, SIG_BLOCK, &signals, &before, RAW_SIGSET);
    return before;
}

static inline void raw_set_signals(uint64_t mask) {
    raw4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, RAW_SIGSET);
}

static inline void raw_sleep(long ns) {
    const long moment[] = {0, ns};
    raw2(SYS_nanosleep, moment, NULL);
}

/* ---- memory of our own ------------------------------------------------- */

/* A build for ThreadSanitizer, which sees no raw calls, defines these: tests/harness/thread_sanitizer.h. */
#ifndef RAW_GIVEN
#define RAW_GIVEN()        ((void)0)
#define RAW_GIVES()        ((void)0)
#define RAW_CHILD_BEGINS() ((void)0)
#define RAW_CHILD_ENDS()   ((void)0)
#endif

/* Zeroed pages, or NULL. */
static inline void *raw_map(size_t bytes) {
    long at = raw_mmap(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    RAW_GIVEN();
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

static inline void raw_unmap(void *at, size_t bytes) {
    RAW_GIVES();
    raw2(SYS_munmap, at, bytes);
}

#endif
