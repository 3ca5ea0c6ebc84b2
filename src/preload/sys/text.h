/* SPDX-License-Identifier: MIT
 *
 * Text in a fixed buffer, without malloc, stdio or locale.  Text beyond the buffer is cut.
 * Used for warnings, the log and the report.
 */
#ifndef UNSTALL_TEXT_H
#define UNSTALL_TEXT_H

#include <stdarg.h>

#include "base.h"

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
void text_print_list(struct text *t, const char *form, va_list list);

#endif
