/* SPDX-License-Identifier: MIT
 *
 * From what the user typed, PID, FILE or DIR, to the segments that are meant.
 */
#ifndef UNSTALL_CLI_SEGMENTS_H
#define UNSTALL_CLI_SEGMENTS_H

#include <stdbool.h>

#include "reader.h"

enum { STATS_FILES_MOST = 4096 }; /* of one folder */

struct stats_files {
    struct reader_file **list; /* of a folder: by the time they were made */
    size_t count;
    size_t refused; /* files of a folder that could not be read */
    bool folder;
};

/* 0, or EXIT_OWN, complained.  In a folder, `quiet` tells nothing about files that cannot
 * be read, and takes an empty one for none. */
int stats_files_open(struct stats_files *s, const char *word, unsigned want, bool quiet);
void stats_files_close(struct stats_files *s);

/* Is it a process id? */
bool is_pid(const char *word, int *pid);

/* Rows of equal endpoint, role, arm and mode added up; free() it. */
struct reader_row *stats_files_merge(const struct stats_files *s, size_t *count);

#endif
