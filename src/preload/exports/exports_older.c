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
#include "hold.h"
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
int older_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char *const argv[],
                      char *const environment[]) {
    process_runs_program();
    return REAL(older_posix_spawn)(pid, path, actions, attributes, argv, environment);
}

int older_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[],
                       char *const environment[]) {
    process_runs_program();
    return REAL(older_posix_spawnp)(pid, file, actions, attributes, argv, environment);
}

/* Until 2.3.2 a condition was smaller: it points to one of today's, made at the first call. */
int older_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    hold_end_turn(PUSH_WAIT);
    return REAL(older_pthread_cond_wait)(condition, mutex);
}

int older_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                 const struct timespec *until) {
    hold_end_turn(PUSH_WAIT);
    return REAL(older_pthread_cond_timedwait)(condition, mutex, until);
}

/* Until 2.4 a signal was sent for each request of a list, too; since 2.34 it is libc's, not librt's. */
#define LIST(name, type)                                                                \
    int name(int mode, type *const list[restrict], int count, struct sigevent *event) { \
        exports_queue_list(mode, (const struct aiocb *const *)list, count);             \
        return REAL(name)(mode, list, count, event);                                    \
    }

LIST(older_lio_listio, struct aiocb)
LIST(older_lio_listio64, struct aiocb64)
LIST(later_lio_listio, struct aiocb)
LIST(later_lio_listio64, struct aiocb64)

#endif

/* Since 2.24 the destructors of thread-locals are not run. */
void older_quick_exit(int status) {
    process_ends();
    REAL(older_quick_exit)(status);
    __builtin_unreachable();
}

/* Since 2.34 a thread that has ended is no error. */
int older_pthread_kill(pthread_t thread, int number) {
    hold_before_visible();
    return REAL(older_pthread_kill)(thread, number);
}
