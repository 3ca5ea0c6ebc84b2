/* SPDX-License-Identifier: MIT
 *
 * The reading side of the statistics file: opens a file, looks whether it is
 * one, and takes a snapshot of it into memory of its own.
 *
 * Nothing in the file is trusted: its host may still be writing, may have been
 * killed at it, or may mean ill.  What comes out of here has strings that end,
 * indices that are in bounds and counts that fit; what made no sense was left out
 * and is counted in `oddities`.  The file is only ever read; one that is truncated
 * meanwhile costs an error, not the reader's life.
 *
 * One thread at a time (SIGBUS is caught while a file is copied).
 */
#ifndef UNSTALL_STATS_FILE_READER_H
#define UNSTALL_STATS_FILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "stats_format.h"

/* What is wrong, in one line: "PATH: why; what is expected". */
struct reader_error {
    char text[640];
};

enum reader_life {
    LIFE_RUNS,
    LIFE_ENDED,
    LIFE_KILLED,  /* has not said goodbye, and nobody maps the file any more */
    LIFE_UNKNOWN, /* we may not look at the process */
};

enum reader_want { READ_ROWS = 1, READ_CONNECTIONS = 2, READ_PATTERNS = 4, READ_ALL = 7 };

/* The shards of a row, or of equal rows of several processes, added up. */
struct reader_tally {
    uint64_t counter[STATS_COUNTERS];
    uint64_t exchange[HISTOGRAM_BUCKETS];
    uint64_t answer[HISTOGRAM_BUCKETS];
};

struct reader_row {
    unsigned index; /* in the segment: what connections and patterns refer to */
    struct stats_row id;
    struct reader_tally tally;
};

struct reader_file {
    struct stats_header header; /* the aligned ones first: no holes */
    struct stats_control control;
    uint64_t device, inode;
    uint64_t taken_ns; /* CLOCK_MONOTONIC */
    enum reader_life life;
    unsigned oddities;
    size_t row_count, connection_count, module_count, pattern_count;
    struct reader_row *rows;
    struct stats_connection *connections; /* by serial */
    struct stats_module *modules;
    struct stats_pattern *patterns;
    char path[4096];
};

/* Read the segment at `path`: what `want` says, the header always.  NULL, and `error`
 * says why.  reader_free() for what is returned. */
struct reader_file *reader_read(const char *path, unsigned want, struct reader_error *error);

/* The same of an open file; it stays open. */
struct reader_file *reader_read_fd(int fd, const char *path, unsigned want,
                                      struct reader_error *error);

void reader_free(struct reader_file *r);

/* The path of the segment that a running process maps, into path[size].  0, or
 * -errno and `error`: -ESRCH no such process, -EACCES not ours to look at,
 * -ENOENT it runs without one. */
int reader_find(pid_t pid, char *path, size_t size, struct reader_error *error);

/* Does the process map this very file?  1, 0 or -errno. */
int reader_maps(pid_t pid, uint64_t device, uint64_t inode);

/* a += b. */
void reader_add(struct reader_tally *a, const struct reader_tally *b);

/* a -= b, where b is an earlier a; what has not grown is zero. */
void reader_subtract(struct reader_tally *a, const struct reader_tally *b);

/* after -= before, for two looks at the same segment: rows by index, and patterns without those that have not
 * grown. */
void reader_since(struct reader_file *after, const struct reader_file *before);

/* The row with this index, or NULL. */
const struct reader_row *reader_row_at(const struct reader_file *r, unsigned index);

/* Rows of the same endpoint, role, arm and mode? */
bool reader_same_row(const struct stats_row *a, const struct stats_row *b);

/* The value that a share of 0 to 1 of the histogram's values does not exceed, in
 * ns, to half a bucket; 0 if it is empty. */
uint64_t reader_quantile(const uint64_t *buckets, unsigned steps, double share);

#endif
