/* SPDX-License-Identifier: MIT
 *
 * Calls of a signal handler that interrupted its own thread inside one of our
 * locks.  The lock cannot be waited for, so the call passes through; in
 * coalesce, where bytes of the same connection may wait in the buffer, it must
 * not overtake them:
 *
 *   - the handler interrupted the lock of the connection that it writes to: its
 *     bytes are kept aside and written when the lock is released;
 *   - another connection: its lock is taken, if it can be had soon.
 *
 * A handler that does not come back (longjmp, _exit, exec) leaves no lock behind
 * and loses no gathered byte.
 */
#ifndef UNSTALL_NESTED_H
#define UNSTALL_NESTED_H

#include "shim.h"

ssize_t nested_write(const struct out *o);

/* Before longjmp out of a handler, or out of nothing at all: give back what this
 * thread holds of ours. */
void nested_abandon(void);

/* Before the process ends, or its image is replaced, from inside a handler. */
void nested_process_ends(void);

#endif
