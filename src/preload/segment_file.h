/* SPDX-License-Identifier: MIT
 *
 * The file of the statistics segment: made, reserved, mapped, closed again.
 */
#ifndef UNSTALL_SEGMENT_FILE_H
#define UNSTALL_SEGMENT_FILE_H

#include "../segment/segment.h"
#include "base.h"

/* A new file PID-STARTED.unstall in `directory`, mapped, all zero; or NULL after
 * a warning.  No descriptor stays open.  Call with all signals blocked. */
struct segment *segment_file(const char *directory, uint64_t started_ns);

#endif
