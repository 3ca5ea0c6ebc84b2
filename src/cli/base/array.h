/* SPDX-License-Identifier: MIT */
#ifndef UNSTALL_CLI_ARRAY_H
#define UNSTALL_CLI_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>

/* How many elements an array has; spelt as in the library's base.h, so that a file may include both. */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Appends an element to a list of malloc(3).  False: no memory, and the list stays as it is. */
#define ARRAY_ADD(list, count, ...)                                                                     \
    __extension__({                                                                                     \
        __typeof__(list) longer_ = reallocarray((list), (count) + 1, sizeof(__typeof__(*longer_)));     \
        bool added_ = longer_ != NULL;                                                                  \
        if (added_) {                                                                                   \
            (list) = longer_;                                                                           \
            longer_[(count)++] = (__VA_ARGS__);                                                         \
        }                                                                                               \
        added_;                                                                                         \
    })

#endif
