/* SPDX-License-Identifier: MIT
 *
 * The older versions of names with more than one definition in libc.  A program that was linked against an
 * older libc asks for them (surface.def); they forward to the same version of libc.
 *
 * An unversioned definition serves all versions.  So a name with one definition in libc, even under several
 * versions, is exported without a version (ld.so(8); check_match in glibc's elf/dl-lookup.c).
 */
#include "exports.h"

#ifdef __i386__ /* exports_untracked.c and exports_process.c define them */
extern __typeof__(fdopen) _IO_fdopen;
extern __typeof__(fclose) _IO_fclose;
extern __typeof__(popen) _IO_popen;
#endif

#define ROW(name, need, family, role)
#define VERSION(older, name, version, newest) \
    extern __typeof__(name) older EXPORT;     \
    __asm__(".symver " #older ", " #name "@" version ", remove");
#include "surface.def"

#ifndef MACHINE_UNKNOWN

#if defined(__x86_64__) || defined(__i386__) || defined(__s390x__)
#define BEFORE_2_4
#endif

#if defined(BEFORE_2_4) || defined(__arm__)
/* Before 2.15 sh ran a script without "#!". */
int older_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
    SPAWN(older_posix_spawn, pid, path)
int older_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
    SPAWN(older_posix_spawnp, pid, file)
#endif

#ifdef BEFORE_2_4
/* Until 2.3.2 a condition was smaller: the old one points to a new one, made at the first call. */
int older_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
    FORWARD(hold_end_turn(PUSH_WAIT), older_pthread_cond_wait, condition, mutex)
int older_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                 const struct timespec *until)
    FORWARD(hold_end_turn(PUSH_WAIT), older_pthread_cond_timedwait, condition, mutex, until)

/* Until 2.4 each request of a list sent a signal, too; since 2.34 the function is in libc, not in librt. */
int older_lio_listio(int mode, struct aiocb *const list[restrict], int count, struct sigevent *event)
    FORWARD(exports_queues(mode, list, count), older_lio_listio, mode, list, count, event)
int older_lio_listio64(int mode, struct aiocb64 *const list[restrict], int count, struct sigevent *event)
    FORWARD(exports_queues(mode, list, count), older_lio_listio64, mode, list, count, event)
int later_lio_listio(int mode, struct aiocb *const list[restrict], int count, struct sigevent *event)
    FORWARD(exports_queues(mode, list, count), later_lio_listio, mode, list, count, event)
int later_lio_listio64(int mode, struct aiocb64 *const list[restrict], int count, struct sigevent *event)
    FORWARD(exports_queues(mode, list, count), later_lio_listio64, mode, list, count, event)
#endif

#if defined(__i386__) || defined(__arm__)
/* Since 2.28 fcntl also takes the locks of fcntl64. */
int older_fcntl(int fd, int command, ...) CONTROL(older_fcntl)
#endif

#ifdef __i386__
/* Until 2.1 a FILE was smaller. */
FILE *older_fdopen(int fd, const char *mode) {
    return exports_opened(REAL(older_fdopen)(fd, mode), fd);
}
ALSO(older__IO_fdopen, older_fdopen)

int older_fclose(FILE *stream) FORWARD(exports_closes(stream), older_fclose, stream)
ALSO(older__IO_fclose, older_fclose)

FILE *older_popen(const char *command, const char *mode) OPEN_PIPE(older_popen)
ALSO(older__IO_popen, older_popen)

int older_pclose(FILE *stream) FORWARD(hold_end_turn(PUSH_WAIT), older_pclose, stream)

/* Until 2.1 a semaphore, and the attributes of a thread, were smaller. */
int older_sem_wait(sem_t *sem) FORWARD(hold_end_turn(PUSH_WAIT), older_sem_wait, sem)
int later_sem_wait(sem_t *sem) FORWARD(hold_end_turn(PUSH_WAIT), later_sem_wait, sem)

int older_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                         void *argument)
    CREATE(result == EAGAIN, older_pthread_create, thread, attributes, start, argument)
int later_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                         void *argument)
    CREATE(result == EAGAIN, later_pthread_create, thread, attributes, start, argument)
#endif

#ifdef __s390x__
/* Until 2.4 a long double had 64 bits. */
int older_vdprintf(int fd, const char *format, va_list arguments) {
    return PRINTED(older_vdprintf, fd, format, arguments);
}
int older_dprintf(int fd, const char *format, ...) PRINT(older_vdprintf, fd, format, arguments)
#endif

#ifndef __riscv
/* Before 2.24 it ran the destructors of thread-locals. */
void older_quick_exit(int status) END(process_ends(), older_quick_exit, status)
#endif

/* Since 2.34 a thread that has ended is no error. */
int older_pthread_kill(pthread_t thread, int number)
    FORWARD(hold_before_signal(), older_pthread_kill, thread, number)
#endif
