/* SPDX-License-Identifier: MIT
 *
 * The reader of the statistics file: opens a file, checks it, and takes a snapshot into its own memory.
 *
 * Nothing in the file is trusted: its process may be writing, may have been killed while it wrote, or may
 * be hostile.  In the snapshot, strings end, indices are in bounds and counts fit their room; invalid
 * entries are left out and counted in `oddities`.  The file is only read.  If it is truncated meanwhile,
 * the reader returns an error.
 *
 * One thread at a time:  SIGBUS is caught while a file is copied.
 */
#ifndef UNSTALL_STATS_FILE_READER_H
#define UNSTALL_STATS_FILE_READER_H

#include <sys/types.h>

#include "stats_format.h"

/* The lower bound of bucket n in ns; n may be one past the last. */
static inline uint64_t histogram_lowest(unsigned n, unsigned steps) {
    if (n == 0)
        return 0;
    unsigned octave = (n - 1) / steps + HISTOGRAM_FIRST_OCTAVE;
    return (UINT64_C(1) << octave) + (((uint64_t)((n - 1) % steps) << octave) / steps);
}

/* True: the library cures in this mode; in the others it looks at most. */
static inline bool stats_mode_cures(unsigned mode) {
    return mode > STATS_MODE_OBSERVE;
}

/* One line: "PATH: reason; expected form". */
struct reader_error {
    char text[640];
};

enum reader_life {
    LIFE_RUNS,
    LIFE_ENDED,
    LIFE_KILLED,  /* no end is recorded, and no process maps the file */
    LIFE_UNKNOWN, /* the process may not be inspected */
};

enum reader_want { READ_ROWS = 1, READ_CONNECTIONS = 2, READ_PATTERNS = 4, READ_ALL = 7 };

/* Sums over the shards of a row, or over equal rows of several processes. */
struct reader_tally {
    uint64_t counter[STATS_COUNTERS];
    uint64_t exchange[HISTOGRAM_BUCKETS];
    uint64_t answer[HISTOGRAM_BUCKETS];
};

struct reader_row {
    unsigned index; /* in the file; connections and patterns refer to it */
    struct stats_row id;
    struct reader_tally tally;
};

struct reader_file {
    struct stats_header header; /* aligned members first: no padding; pid of one that runs: here */
    struct stats_control control;
    uint64_t device, inode;
    uint64_t taken_ns; /* CLOCK_MONOTONIC */
    enum reader_life life;
    unsigned oddities;
    size_t row_count, connection_count, module_count, pattern_count;
    struct reader_row *rows;
    struct stats_connection *connections; /* sorted by serial */
    struct stats_module *modules;
    struct stats_pattern *patterns;
    char path[4096];
};

/* Reads the parts `want` of the statistics file at `path`, and always the header.  NULL, and `error`, if
 * it cannot be read.  The caller frees the result by reader_free(). */
struct reader_file *reader_read(const char *path, unsigned want, struct reader_error *error);

/* The same for an open file, which stays open. */
struct reader_file *reader_read_fd(int fd, const char *path, unsigned want,
                                   struct reader_error *error);

void reader_free(struct reader_file *r);

/* True for the name of a statistics file in its folder. */
bool reader_is_name(const char *name);

/* Writes the path of the statistics file that a running process maps into path[size].  0, or -errno and
 * `error`: -ESRCH no such process, -EACCES the process may not be inspected, -ENOENT it has no file. */
int reader_find(pid_t pid, char *path, size_t size, struct reader_error *error);

/* One of the files that a process maps; its name, if the file was deleted, is without " (deleted)". */
struct reader_mapping {
    uint64_t start, end, offset, device, inode;
    bool is_executable;
    const char *path; /* "": it has none */
    bool is_deleted;
};

/* Calls `found` for each mapping until it returns true.  0, or -errno: -ESRCH no such process. */
int reader_each_mapping(pid_t pid, bool (*found)(const struct reader_mapping *m, void *context),
                        void *context);

/* What helps where another process may not be inspected. */
const char *reader_who_may(void);

/* "; run this as WHO" behind an error (an errno) that a user of more rights would not have; else "". */
enum reader_who { ITS_USER_OR_ROOT, ROOT };
const char *reader_refused(int error, enum reader_who who);

/* The id that a process has in its own PID namespace; `pid`, where that may not be known. */
pid_t reader_own_id(pid_t pid);

/* 1 if the process maps this file, 0 if not, or -errno. */
int reader_maps(pid_t pid, uint64_t device, uint64_t inode);

/* a += b. */
void reader_add(struct reader_tally *a, const struct reader_tally *b);

/* a -= b, where b is an earlier a.  A counter that has shrunk becomes zero. */
void reader_subtract(struct reader_tally *a, const struct reader_tally *b);

/* after -= before, for two snapshots of one file.  Rows match by index; patterns that have not grown are
 * removed. */
void reader_since(struct reader_file *after, const struct reader_file *before);

/* The row with this index, or NULL. */
const struct reader_row *reader_row_at(const struct reader_file *r, unsigned index);

/* The quantile `share` (0 to 1) of a histogram in ns, to half a bucket; 0 if the histogram is empty. */
uint64_t reader_quantile(const uint64_t *buckets, unsigned steps, double share);

#endif
