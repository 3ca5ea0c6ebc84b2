/* SPDX-License-Identifier: MIT
 *
 * The lines of /proc, column by column, as sscanf(3) reads them.  One difference: a number that does not fit
 * its type is an error.
 */
#ifndef UNSTALL_STATS_FILE_COLUMNS_H
#define UNSTALL_STATS_FILE_COLUMNS_H

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Skips so many columns; false if there are fewer. */
static inline bool columns_skip(const char **at, unsigned count) {
    for (; count > 0; count--) {
        *at += strspn(*at, " \t");
        size_t length = strcspn(*at, " \t\n");
        if (length == 0)
            return false;
        *at += length;
    }
    return true;
}

/* Reads a number with digits in `base`; false if there is none, or it is more than `most`. */
static inline bool column_number(const char **at, int base, uint64_t most, uint64_t *value) {
    char *end;
    const char *digits = *at + strspn(*at, " \t");
    if (!isxdigit((unsigned char)*digits))
        return false; /* strtoull(3) would take a sign */
    errno = 0;
    unsigned long long number = strtoull(digits, &end, base);
    if (end == digits || errno || number > most)
        return false;
    *value = number;
    *at = end;
    return true;
}

#endif
