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
#include "process.h"

#define ROW(name, need, family, role)
#define VERSION(older, name, version, newest) \
    extern __typeof__(name) older EXPORT;     \
    __asm__(".symver " #older ", " #name "@" version ", remove");
#include "surface.def"
#undef ROW
#undef VERSION

#if defined(__x86_64__)

/* Since 2.15 a script without "#!" is not run by sh any more. */
#define SPAWN(name)                                                                            \
    FORWARD(process_runs_program(), int, name,                                                 \
            (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,         \
             const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]), \
            (pid, path, actions, attributes, argv, environment))

SPAWN(older_posix_spawn)
SPAWN(older_posix_spawnp)

/* Until 2.3.2 a condition was smaller: it points to one of today's, made at the first call. */
FORWARD(hold_end_turn(PUSH_WAIT), int, older_pthread_cond_wait,
        (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex))
FORWARD(hold_end_turn(PUSH_WAIT), int, older_pthread_cond_timedwait,
        (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until),
        (condition, mutex, until))

/* Until 2.4 a signal was sent for each request of a list, too; since 2.34 it is libc's, not librt's. */
QUEUES_LIST(older_lio_listio, struct aiocb)
QUEUES_LIST(older_lio_listio64, struct aiocb64)
QUEUES_LIST(later_lio_listio, struct aiocb)
QUEUES_LIST(later_lio_listio64, struct aiocb64)

#endif

/* Since 2.24 the destructors of thread-locals are not run. */
void older_quick_exit(int status) {
    process_ends();
    REAL(older_quick_exit)(status);
    __builtin_unreachable();
}

/* Since 2.34 a thread that has ended is no error. */
FORWARD(hold_before_visible(), int, older_pthread_kill, (pthread_t thread, int number), (thread, number))
