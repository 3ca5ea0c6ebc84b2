/* SPDX-License-Identifier: MIT
 *
 * The control block of a statistics file: the library and the command read it.
 */
#ifndef UNSTALL_STATS_FILE_CONTROL_H
#define UNSTALL_STATS_FILE_CONTROL_H

#include "stats_format.h"

enum {
    ARM_WEIGHT_MAX = 1000,
    WINDOW_MIN_US = 500, /* a thread keeps no shorter one: docs/kernel.md, "A thread that ends a window" */
    WINDOW_MAX_US = 100000,
};

/* A block is copied word by word, each word by one atomic access. */
typedef uint64_t __attribute__((may_alias)) control_word;

enum { CONTROL_WORDS = sizeof(struct stats_control) / sizeof(control_word) };

/* Takes a consistent copy.  0, or -EAGAIN: a tool is writing, or has died while it wrote. */
int stats_control_read(const struct stats_control *block, struct stats_control *copy);

/* The reason why a block is invalid, in a few words, or NULL. */
const char *stats_control_wrong(const struct stats_control *c);

#endif
