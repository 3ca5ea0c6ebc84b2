/* SPDX-License-Identifier: MIT
 *
 * When `run` puts a program under the seccomp supervisor, and what it says then.
 */
#ifndef UNSTALL_CLI_SUPERVISED_H
#define UNSTALL_CLI_SUPERVISED_H

#include "launch.h"
#include "obstacles.h"

/* Sets l->supervised and the members about it.  Returns the obstacle that no way
 * overcomes, or NULL. */
const struct obstacle *supervised_choose(struct launch *l, const struct obstacles *found);

/* Refuses settings that the supervisor cannot obey.  0, or the exit code and a complaint. */
int supervised_check(const struct launch *l);

/* Puts this process under the supervisor.  0, or the exit code and a complaint. */
int supervised_begin(const struct launch *l);

#endif
