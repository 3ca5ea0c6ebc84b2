/* SPDX-License-Identifier: MIT
 *
 * Which processes are under a supervisor of `unstall run`.
 *
 * Guard and worker have this name and one session, whose number is that of the process which was the guard
 * first.  A supervised program has it in a variable, and leaves it to the programs that it starts.  The
 * kernel tells of a process only that it has a filter, not whose.
 */
#ifndef UNSTALL_SUPERVISE_GUARDS_H
#define UNSTALL_SUPERVISE_GUARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GUARD_NAME  "unstall-guard"
#define GUARD_BLIND "unstall-blind" /* one that may copy no descriptor: a filter refuses pidfd_getfd(2) */

struct guard {
    pid_t session;
    uint64_t start; /* as in process_stat.h */
    bool blind;     /* it has that name: where the program sets TCP_NODELAY itself, its value stays */
};

/* In the program-to-be: sets the variable. */
void guards_tell(pid_t session);

/* True of both names. */
bool guard_is_called(const char *name);

/* All guards, one a supervisor; free() the list. */
size_t guards_find(struct guard **list);

/* The guard that a process is under, among these; NULL: none, or its environment and those of its ancestors
 * may not be read. */
const struct guard *guard_of(pid_t pid, const struct guard *list, size_t count);

#endif
