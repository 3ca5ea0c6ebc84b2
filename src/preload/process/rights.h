/* SPDX-License-Identifier: MIT
 *
 * Around a call of rights.def: holds are pushed, the window's thread ends, and none starts until the call is
 * over, so that none keeps rights that the program has dropped.  The next hold starts one.  A program that
 * changes its rights again and again (as a server that takes its client's rights for each request) gets no
 * more threads: a start for each request would slow it.
 */
#ifndef UNSTALL_RIGHTS_H
#define UNSTALL_RIGHTS_H

#include <sys/syscall.h>

#include "base.h"

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446 /* Linux 5.13 */
#endif

/* Runs before the call `number` with this first argument.  Pass the result to
 * rights_changed() after the call. */
uint32_t rights_change(long number, unsigned long first);
void rights_changed(uint32_t barred);

/* Runs before a signal to `task`.  A program that signals the window's thread signals each task in
 * /proc/self/task, as libpsx of libcap 2.72 does to change the rights of all of them, and waits until
 * each has answered or ended.  The window's thread blocks all signals and cannot answer, so this ends it.
 * Pass the result to rights_changed() after the call. */
uint32_t rights_signal(long task);

#endif
