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
};

/* In the program-to-be: sets the variable. */
void guards_tell(pid_t session);

/* True of both names. */
bool guard_is_called(const char *name);

/* True if the guard of this session may not copy descriptors.  A connection on which its program sets
 * TCP_NODELAY itself then has the program's value. */
bool guard_is_blind(pid_t session);

/* All guards, one a supervisor; free() the list. */
size_t guards_find(struct guard **list);

/* The session of the guard that a process is under, among these; 0: none, or its environment and those of its
 * ancestors may not be read. */
pid_t guard_of(pid_t pid, const struct guard *list, size_t count);

#endif
