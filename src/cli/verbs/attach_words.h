/* SPDX-License-Identifier: MIT
 *
 * The target on the command line, the same for attach and detach.
 */
#ifndef UNSTALL_CLI_ATTACH_WORDS_H
#define UNSTALL_CLI_ATTACH_WORDS_H

#include "args.h"
#include "target.h"

/* Takes the present option if it names a target.  0, EXIT_OWN after a complaint, or -1: it is
 * another option. */
int attach_option(struct args *a, struct attach_wish *w);

/* The present word as a PID; `expected` tells what else it could be.  0 or EXIT_OWN. */
int attach_process(const struct args *a, struct attach_wish *w, const char *expected);

/* How many targets are named; a port alone is one. */
int attach_targets(const struct attach_wish *w);

#endif
