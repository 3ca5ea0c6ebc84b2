/* SPDX-License-Identifier: MIT
 *
 * From the user's word (PID, FILE, DIR or SERVICE) to the statistics files.
 */
#ifndef UNSTALL_CLI_STATS_FILES_H
#define UNSTALL_CLI_STATS_FILES_H

#include "reader.h"

enum { STATS_FILES_MOST = 4096 }; /* in one folder */

/* The folder of a host's statistics if none is named. */
#define STATS_USUAL_FOLDER "/dev/shm/unstall"

struct stats_files {
    struct reader_file **list; /* of a folder: sorted by start */
    size_t count;
    size_t refused; /* unreadable files of a folder */
    bool folder;
    uint64_t watched_ns; /* not 0: the numbers are those of this time alone */
};

/* 0, or EXIT_OWN and a complaint.  `quiet`: no remark about unreadable files of a folder, and an empty
 * folder is no error. */
int stats_files_open(struct stats_files *s, const char *word, unsigned want, bool quiet);

/* 0, or EXIT_OWN and a complaint: the word is an empty folder that can never have one. */
int stats_files_may_come(const struct stats_files *s, const char *word);
void stats_files_close(struct stats_files *s);

/* One more, which stats_files_close() will free.  0, or EXIT_OWN, and it is freed: no memory. */
int stats_files_add(struct stats_files *s, struct reader_file *r);

/* True, and *pid, if the word is a process id. */
bool is_pid(const char *word, int *pid);

/* True, and `path`, if the word is no path but the name of a service ("app", "app.service") of which
 * `unstall enable --stats` has a folder of statistics. */
bool is_service(const char *word, char *path, size_t bytes);

/* Why the library would not keep statistics in this folder; NULL: it would. */
const char *stats_folder_obstacle(const char *folder);

/* How to get a folder for statistics. */
const char *stats_folder_way(void);

/* Adds up rows of equal endpoint, role, arm and mode.  The caller frees the list.  NULL and a complaint: no
 * memory. */
struct reader_row *stats_files_merge(const struct stats_files *s, size_t *count);

#endif
