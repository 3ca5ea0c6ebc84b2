/* SPDX-License-Identifier: MIT
 *
 * Attachments that share connections.  Two that cure may: a connection is cured while either of them is
 * there.  An experiment may not, because another attachment would act in every arm.
 */
#ifndef UNSTALL_ATTACH_OVERLAP_H
#define UNSTALL_ATTACH_OVERLAP_H

#include "attach.h"

/* True if both may have the same connection. */
bool attach_overlap(const struct attach_config *a, const struct attach_config *b);

/* Called under the lock of the pins.  -EBUSY with a sentence if this one, which is about to begin, and one
 * that exists share connections, and one of them is an experiment. */
int attach_refuse_overlap(const char *name, const struct attach_config *c, char error[ATTACH_ERROR]);

#endif
