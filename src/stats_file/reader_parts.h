/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the reader only.
 */
#ifndef UNSTALL_STATS_FILE_READER_PARTS_H
#define UNSTALL_STATS_FILE_READER_PARTS_H

#include "reader.h"

void reader_fail(struct reader_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Copies word by word with acquire loads, so that the words after a `state` are at least as new as the
 * state.  `bytes` and both addresses are multiples of eight. */
void reader_copy(void *to, const void *from, size_t bytes);

/* Allocates memory for the parts `want`.  The caller does this before it reads the mapping: a SIGBUS jumps
 * out of the copy, and memory allocated there would leak. */
bool reader_make_room(struct reader_file *r, unsigned want);

/* a += the shard. */
void reader_add_shard(struct reader_tally *a, const struct stats_shard *shard);

/* Fills r with the valid entries of a copy of the file, and corrects them.  `shared` is the file itself; it
 * is read only to see if a record was given to another connection meanwhile. */
void reader_take(struct reader_file *r, const struct stats_file *copy, const struct stats_file *shared,
                 unsigned want);

#endif
