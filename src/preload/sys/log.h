/* SPDX-License-Identifier: MIT
 *
 * Text without malloc, stdio or locale, and where it goes: warnings, the log and the report.
 */
#ifndef UNSTALL_LOG_H
#define UNSTALL_LOG_H

#include <stdarg.h>

#include "base.h"

/* ---- text in a fixed buffer; what is beyond it is cut ----------------------- */

struct text {
    char *at;
    size_t size; /* of the buffer; at most size - 1 characters and a NUL */
    size_t used;
};

#define TEXT(name, bytes)                                                 \
    char name##_buffer[bytes];                                            \
    struct text name = {.at = name##_buffer, .size = (bytes), .used = 0}; \
    name##_buffer[0] = '\0'

/* The same in pages of its own, for texts too long for a handler's stack: a call of ours adds at most 2 KB to
 * what it needs without us.  False: no memory; then the text is not to be used. */
bool text_map(struct text *t, size_t bytes);
void text_unmap(struct text *t);

void text_add(struct text *t, const char *s);
void text_add_n(struct text *t, const char *s, size_t n);
void text_number(struct text *t, int64_t n);
/* s as a JSON string, with its quotes. */
void text_json(struct text *t, const char *s);
/* As printf(3), with few forms: %s a string, %v a string cut after 300 characters (for values from
 * outside), %j a JSON string, %d a long, %x 16 hexadecimal digits of a uint64_t. */
void text_print(struct text *t, const char *form, ...);

/* ---- output to stderr, or to a file ------------------------------------------
 *
 * A file is opened for appending, written in one write and closed again, so that no descriptor
 * of ours stays open.  Works before libc is ready, keeps errno, and waits no longer
 * than a second for a stderr that nobody reads.  Longer texts are in mappings, because a handler may have a
 * small stack and may leave by a jump, so that a buffer with a lock could be locked for ever.
 */
/* Write text to `target`: "stderr" or a path in which %p stands for the process id.  0 or -errno. */
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
