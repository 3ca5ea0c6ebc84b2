/* SPDX-License-Identifier: MIT
 *
 * Copies the registers and the stack of the calling thread, and memory that may be
 * unmapped.  No function here faults, allocates or locks.
 */
#ifndef UNSTALL_STACK_SNAPSHOT_H
#define UNSTALL_STACK_SNAPSHOT_H

#include "base.h"
#include "stats_format.h"

struct evidence_write;

/* Snapshot of this thread, inside the exported call that it made. */
void stack_snapshot(struct stats_write *to, const struct evidence_write *w);

/* Copy up to `bytes` from an address that may be unreadable.  Returns the number copied. */
size_t snapshot_peek(void *to, uintptr_t from, size_t bytes);

#endif
