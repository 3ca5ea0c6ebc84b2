/* SPDX-License-Identifier: MIT
 *
 * What the unit tests share.  Criterion runs each test in a process of its own:
 * static state is fresh in each.
 */
#ifndef UNSTALL_UNIT_H
#define UNSTALL_UNIT_H

#include <criterion/criterion.h>

#include "base.h"

/* `for each row of a static table`; rows begin with `const char *name`. */
#define EACH_ROW(row, table) \
    for (__typeof__(&(table)[0]) row = (table); row < (table) + ARRAY_SIZE(table); row++)

/* Integers that must be equal, with the row that says so. */
#define EXPECT_INT(row_name, got, wanted) \
    do { \
        long long got_ = (long long)(got), wanted_ = (long long)(wanted); \
        cr_expect(got_ == wanted_, "%s: %s is %lld, not %lld", (row_name), #got, got_, wanted_); \
    } while (0)

#define EXPECT_TEXT(row_name, got, wanted) \
    do { \
        const char *got_ = (got), *wanted_ = (wanted); \
        cr_expect(strcmp(got_, wanted_) == 0, "%s:\n      got  %s\n      not  %s", (row_name), \
                  got_, wanted_); \
    } while (0)

#endif
