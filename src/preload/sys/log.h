/* SPDX-License-Identifier: MIT
 *
 * Where warnings, the log and the report go: stderr, or a file that is opened
 * for appending, written in one write and closed again, so that no descriptor
 * of ours stays open.  Works before libc is ready, keeps errno, never blocks on
 * anything but that one write.
 */
#ifndef UNSTALL_LOG_H
#define UNSTALL_LOG_H

#include "text.h"

/* Write text to `target`: "stderr" or a path in which %p stands for the
 * process id.  0 or -errno. */
int log_to(const char *target, const struct text *t);

/* Say one line about ourselves where UNSTALL_LOG points (default stderr). */
void log_line(const struct text *t);

/* Is descriptor 2 still what its number says?  Closed, it may be born again as
 * anybody's data; dup2 onto it makes it stderr again. */
void log_stderr_is(bool there);

/* Set once by the configuration. */
void log_use(const char *target);

#endif
