/* SPDX-License-Identifier: MIT
 *
 * The older versions of names with more than one definition in libc.  A program that was linked
 * against an older libc asks for them (surface.def); they forward to the same version of libc.
 *
 * An unversioned definition serves all versions.  So a name with one definition in libc, even
 * under several versions, is exported without a version (ld.so(8);
 * check_match in glibc's elf/dl-lookup.c).
 */
#include "exports.h"
#include "raw.h"

#define ROW(name, need, family, role)
#define VERSION(older, name, version, newest) \
    extern __typeof__(name) older EXPORT;     \
    __asm__(".symver " #older ", " #name "@" version ", remove");
#include "surface.def"
#undef ROW
#undef VERSION

#ifndef MACHINE_UNKNOWN

#if defined(__x86_64__) || defined(__i386__) || defined(__s390x__)
#define BEFORE_2_4
#endif

#if defined(BEFORE_2_4) || defined(__arm__)

/* Before 2.15 sh ran a script without "#!". */
SPAWNS(older_posix_spawn)
SPAWNS(older_posix_spawnp)

#endif

#ifdef BEFORE_2_4

/* Until 2.3.2 a condition was smaller: the old one points to a new one, made at the first call. */
FORWARD(hold_end_turn(PUSH_WAIT), int, older_pthread_cond_wait,
        (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex))
FORWARD(hold_end_turn(PUSH_WAIT), int, older_pthread_cond_timedwait,
        (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until),
        (condition, mutex, until))

/* Until 2.4 each request of a list sent a signal, too; since 2.34 the function is in libc, not in librt. */
QUEUES_LIST(older_lio_listio, struct aiocb)
QUEUES_LIST(older_lio_listio64, struct aiocb64)
QUEUES_LIST(later_lio_listio, struct aiocb)
QUEUES_LIST(later_lio_listio64, struct aiocb64)

#endif

#if defined(__i386__) || defined(__arm__)

/* Since 2.28 fcntl also takes the locks of fcntl64. */
CONTROLS(older_fcntl)

#endif

#ifdef __i386__

/* Until 2.1 a FILE was smaller. */
FILE *older_fdopen(int fd, const char *mode) {
    FILE *stream = REAL(older_fdopen)(fd, mode);
    if (stream)
        shim_untrack(fd);
    return stream;
}
ALSO(older__IO_fdopen, older_fdopen)

FORWARD(exports_closes(stream), int, older_fclose, (FILE * stream), (stream))
ALSO(older__IO_fclose, older_fclose)

OPENS_PIPE(older_popen)
ALSO(older__IO_popen, older_popen)
FORWARD(hold_end_turn(PUSH_WAIT), int, older_pclose, (FILE * stream), (stream))

/* Until 2.1 a semaphore, and the attributes of a thread, were smaller. */
FORWARD(hold_end_turn(PUSH_WAIT), int, older_sem_wait, (sem_t * sem), (sem))
FORWARD(hold_end_turn(PUSH_WAIT), int, later_sem_wait, (sem_t * sem), (sem))

CREATES(older_pthread_create)
CREATES(later_pthread_create)

#endif

#ifdef __s390x__

/* Until 2.4 a long double had 64 bits. */
FORWARD(exports_prints(fd), int, older_vdprintf, (int fd, const char *format, va_list arguments),
        (fd, format, arguments))

PRINTS(older_dprintf, older_vdprintf, (int fd, const char *format, ...), (fd, format, list))

#endif

#ifndef __riscv

/* Before 2.24 it ran the destructors of thread-locals. */
ENDS(process_ends(), older_quick_exit, (int status), (status))

#endif

/* Since 2.34 a thread that has ended is no error. */
FORWARD(hold_before_signal(), int, older_pthread_kill, (pthread_t thread, int number), (thread, number))

#endif
