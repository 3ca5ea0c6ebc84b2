/* SPDX-License-Identifier: MIT
 *
 * Output of warnings, the log and the report: to stderr, or to a file.  A file is
 * opened for appending, written in one write and closed again, so that no descriptor
 * of ours stays open.  Works before libc is ready, keeps errno, and waits no longer
 * than a second for a stderr that nobody reads.  Longer texts are in mappings, because a handler may have a
 * small stack and may leave by a jump, so that a buffer with a lock could be locked for ever.
 */
#ifndef UNSTALL_LOG_H
#define UNSTALL_LOG_H

#include "text.h"

/* Write text to `target`: "stderr" or a path in which %p stands for the
 * process id.  0 or -errno. */
int log_to(const char *target, const struct text *t);

/* Write one line to the target of UNSTALL_LOG (default stderr), in the forms of text_print(). */
void log_line(const char *form, ...);

/* At the start: JOURNAL_STREAM of the environment, or NULL.  No other socket takes a message as stderr. */
void log_start(const char *journal_stream);

/* Tells whether descriptor 2 is stderr.  After a close its number may belong to any other
 * file or socket; dup2 onto it makes it stderr again. */
void log_stderr_is(bool there);

/* Set once by the configuration. */
void log_use(const char *target);

#endif
