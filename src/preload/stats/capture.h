/* SPDX-License-Identifier: MIT
 *
 * One look at a thread's own registers and stack, and at memory that may not be
 * there.  Nothing here faults, allocates or locks.
 */
#ifndef UNSTALL_CAPTURE_H
#define UNSTALL_CAPTURE_H

#include "base.h"
#include "stats_format.h"

struct evidence_write;

/* This thread, as it is now: beneath the exported call that it made. */
void capture(struct stats_write *to, const struct evidence_write *w);

/* Copy `bytes` from an address that may not be readable.  How much there was. */
size_t capture_peek(void *to, uintptr_t from, size_t bytes);

#endif
