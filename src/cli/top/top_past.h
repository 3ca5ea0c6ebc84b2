/* SPDX-License-Identifier: MIT
 *
 * The exchange times of the last looks, for each endpoint of each process, and a line of them.
 */
#ifndef UNSTALL_CLI_TOP_PAST_H
#define UNSTALL_CLI_TOP_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAST_LOOKS = 24, PAST_TEXT = PAST_LOOKS * 4 + 1 };

/* The medians of one endpoint, the latest last; 0: no exchange. */
struct past {
    uint64_t device, inode; /* of the statistics file */
    uint32_t row;
    uint64_t median[PAST_LOOKS];
};

struct past_list {
    struct past *list; /* sorted */
    size_t count;
};

/* Fills `now` with the medians in `before`, moved by one place, and the new median; zeros for a new
 * endpoint. */
void past_follow(const struct past_list *before, struct past *now, uint64_t median);
void past_sort(struct past_list *p);
const struct past *past_find(const struct past_list *p, uint64_t device, uint64_t inode,
                             uint32_t row);

/* One column for each look, on a logarithmic scale from 10 µs to 1 s, so that 40 ms looks the same in every
 * line: "▁▁▁▆▆▆", or digits from 0 to 7.  A look without an exchange is a space. */
const char *past_text(const struct past *p, bool ascii, char text[PAST_TEXT]);

#endif
