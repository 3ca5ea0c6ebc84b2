/* SPDX-License-Identifier: MIT
 *
 * Stands for a name that this libc lacks.
 */
#ifndef UNSTALL_ABSENT_H
#define UNSTALL_ABSENT_H

#include "base.h"

/* What a call of `name`, whose next definition belongs in `slot`, then does (surface.def). */
void *absent(void **slot, const char *name);

/* That of a required name, and of one that fails as an absent system call does. */
long absent_call(void);

#endif
