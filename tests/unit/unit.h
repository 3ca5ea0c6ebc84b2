/* SPDX-License-Identifier: MIT
 *
 * The helpers that all unit tests share.  Criterion runs each test in a process of its own:
 * static state is fresh in each.
 */
#ifndef UNSTALL_UNIT_H
#define UNSTALL_UNIT_H

#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"

/* `for each row of a static table`; rows begin with their subject. */
#define EACH_ROW(row, table) \
    for (__typeof__(&(table)[0]) row = (table); row < (table) + ARRAY_SIZE(table); row++)

/* Criterion 2.4.1 writes messages into its XML report as they are: no markup in them. */
static inline const char *unit_plain(const char *text) {
    static char copies[4][4096];
    static unsigned next;
    char *copy = copies[next++ % ARRAY_SIZE(copies)];
    size_t i;
    for (i = 0; text[i] && i < sizeof(copies[0]) - 1; i++) {
        bool printable = (unsigned char)text[i] >= ' ' && (unsigned char)text[i] < 0x7f;
        copy[i] = (char)(text[i] == '<' ? '(' : text[i] == '&' ? '+' : printable ? text[i] : '?');
    }
    copy[i] = '\0';
    return copy;
}

#define EXPECT(condition) cr_expect(condition, "not so: %s", unit_plain(#condition))
#define ASSERT(condition) cr_assert(condition, "not so: %s", unit_plain(#condition))

/* Integers that must be equal, with the row that says so. */
#define EXPECT_INT(row_name, got, wanted)                                                          \
    do {                                                                                           \
        long long got_ = (long long)(got), wanted_ = (long long)(wanted);                          \
        cr_expect(got_ == wanted_, "%s: %s is %lld, not %lld", (row_name), unit_plain(#got), got_, \
                  wanted_);                                                                        \
    } while (0)

#define EXPECT_TEXT(row_name, got, wanted)                                                     \
    do {                                                                                       \
        const char *got_ = (got), *wanted_ = (wanted);                                         \
        cr_expect(strcmp(got_, wanted_) == 0, "%s:\n      got  %s\n      not  %s", (row_name), \
                  unit_plain(got_), unit_plain(wanted_));                                      \
    } while (0)

/* What follows plays a handler that has interrupted the section of this thread: its frames are further
 * below. */
#define in_handler() ((void)(self.frame = UINTPTR_MAX))

#endif
