/* SPDX-License-Identifier: MIT
 *
 * Between the files of the reader.
 */
#ifndef UNSTALL_STATS_FILE_READER_PARTS_H
#define UNSTALL_STATS_FILE_READER_PARTS_H

#include "reader.h"

void reader_fail(struct reader_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Word by word, each loaded whole and with acquire, so that what is behind a `state` is
 * as new as the state.  `bytes` and both places are multiples of eight. */
void reader_copy(void *to, const void *from, size_t bytes);

/* Memory for what `want` says.  Before the file is touched: nothing is allocated
 * where a SIGBUS may jump away. */
bool reader_make_room(struct reader_file *r, unsigned want);

/* a += the shard. */
void reader_add_shard(struct reader_tally *a, const struct stats_shard *shard);

/* Fill r from a copy of the file: only what is valid, and made sound.  `shared`, the
 * file itself, is looked at only where a record may have changed hands meanwhile. */
void reader_take(struct reader_file *r, const struct stats_file *copy, const struct stats_file *shared,
                 unsigned want);

#endif
