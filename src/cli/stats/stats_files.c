/* SPDX-License-Identifier: MIT */
#include "stats_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "args.h"
#include "array.h"
#include "errors.h"
#include "prose.h"

bool is_pid(const char *word, int *pid) {
    long n = 0;
    bool is = is_number(word, 1, INT_MAX, &n);
    *pid = is ? (int)n : *pid;
    return is;
}

/* enable writes `%t/unstall/%N` into the drop-in: /run, and the name without its suffix. */
bool is_service(const char *word, char *path, size_t bytes) {
    static const char suffix[] = ".service";
    struct stat st;
    size_t length = strlen(word), end = sizeof(suffix) - 1;
    if (strchr(word, '/') || word[0] == '.' || access(word, F_OK) == 0)
        return false;
    if (length > end && strcmp(word + length - end, suffix) == 0)
        length -= end;
    return (size_t)snprintf(path, bytes, "/run/unstall/%.*s", (int)length, word) < bytes &&
           stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int stats_files_add(struct stats_files *s, struct reader_file *r) {
    if (ARRAY_ADD(s->list, s->count, r))
        return 0;
    reader_free(r);
    return complain("%s", strerror(ENOMEM));
}

static int add_file(struct stats_files *s, const char *path, unsigned want) {
    struct reader_error error;
    struct reader_file *r = reader_read(path, want, &error);
    if (!r)
        return complain("%s", error.text);
    return stats_files_add(s, r);
}

static int add_process(struct stats_files *s, int pid, unsigned want) {
    char path[4096];
    struct reader_error error;
    if (reader_find(pid, path, sizeof(path), &error) != 0)
        return complain("%s", error.text);
    return add_file(s, path, want);
}

/* ---- a folder -------------------------------------------------------- */

/* Why no program of its owner can have statistics there; NULL: it can. */
static const char *obstacle_of_owner(const char *folder, uid_t *owner) {
    struct stat st;
    struct statfs fs;
    if (lstat(folder, &st) != 0)
        return strerror(errno);
    *owner = st.st_uid;
    if (!S_ISDIR(st.st_mode))
        return "is not a directory";
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return "must belong to you, and no other user may write to it";
    if (statfs(folder, &fs) != 0 || fs.f_type != TMPFS_MAGIC)
        return "is not on tmpfs, and writing pages back to a disk could block the program";
    return NULL;
}

/* The library checks the folder too (stats_file.c), but its warning may go to a log. */
const char *stats_folder_obstacle(const char *folder) {
    uid_t owner = geteuid();
    const char *why = obstacle_of_owner(folder, &owner);
    return owner == geteuid() ? why : "must belong to you, and no other user may write to it";
}

const char *stats_folder_way(void) {
    struct stat st;
    if (!stats_folder_obstacle(STATS_USUAL_FOLDER))
        return "take " STATS_USUAL_FOLDER;
    return lstat(STATS_USUAL_FOLDER, &st) == 0 ? "make one by mktemp -d -p /dev/shm" /* another user's */
                                               : "make one by mkdir -m 700 " STATS_USUAL_FOLDER;
}

static int complain_empty(const char *folder, bool service) {
    uid_t owner = geteuid();
    const char *why = obstacle_of_owner(folder, &owner);
    struct prose command = {.used = 0};
    if (service)
        return complain("%s: no statistics files: no process of the service that has the library has made a "
                        "TCP connection yet; unstall status tells which have it",
                        folder);
    if (why)
        return complain("%s: no statistics files, and it can have none: it %s; %s", folder, why,
                        stats_folder_way());
    prose_add_word(&command, folder);
    return complain("%s: no statistics files; %s with unstall run --stats%s -- PROGRAM", folder,
                    owner == geteuid() ? "start a program" : "its owner can start a program", command.text);
}

static int is_stats_file_name(const struct dirent *entry) {
    return reader_is_name(entry->d_name);
}

static int by_start(const void *a, const void *b) {
    const struct reader_file *x = *(struct reader_file *const *)a;
    const struct reader_file *y = *(struct reader_file *const *)b;
    if (x->header.started_ns != y->header.started_ns)
        return x->header.started_ns < y->header.started_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

static int add_entry(struct stats_files *s, const char *folder, const char *name, unsigned want,
                     bool quiet) {
    char path[4096];
    struct reader_error error = {"the path is too long"};
    bool fits = (size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path);
    struct reader_file *r = fits ? reader_read(path, want, &error) : NULL;
    if (r)
        return stats_files_add(s, r);
    s->refused++;
    if (!quiet)
        remark("%s", error.text);
    return 0;
}

static int add_folder(struct stats_files *s, const char *folder, bool service, unsigned want, bool quiet) {
    struct dirent **names;
    int count = scandir(folder, &names, is_stats_file_name, alphasort);
    int failed = 0;
    if (count < 0)
        return complain("%s: %s", folder, strerror(errno));
    if (count > STATS_FILES_MOST)
        remark("%s: has %d statistics files; only %d are read", folder, count, STATS_FILES_MOST);
    for (int i = 0; i < count; i++) {
        if (!failed && i < STATS_FILES_MOST)
            failed = add_entry(s, folder, names[i]->d_name, want, quiet);
        free(names[i]);
    }
    free(names);
    if (failed)
        return failed;
    s->folder = true;
    if (s->count)
        qsort(s->list, s->count, sizeof(struct reader_file *), by_start);
    if (s->count || quiet)
        return 0;
    if (s->refused)
        return complain("%s: none of its statistics files could be read", folder);
    return complain_empty(folder, service);
}

int stats_files_open(struct stats_files *s, const char *word, unsigned want, bool quiet) {
    struct stat st;
    char path[4096];
    int pid = 0, failed = 0;
    *s = (struct stats_files){.list = NULL};
    if (is_pid(word, &pid))
        failed = add_process(s, pid, want);
    else if (is_service(word, path, sizeof(path)))
        failed = add_folder(s, path, true, want, quiet);
    else if (stat(word, &st) == 0 && S_ISDIR(st.st_mode))
        failed = add_folder(s, word, false, want, quiet);
    else if (!strchr(word, '/') && access(word, F_OK) != 0)
        failed = complain("%s: no such file, folder or service with --stats; give a process by its id", word);
    else
        failed = add_file(s, word, want);
    if (failed)
        stats_files_close(s);
    return failed;
}

int stats_files_may_come(const struct stats_files *s, const char *word) {
    struct stat st;
    uid_t owner;
    if (!s->folder || s->count || s->refused || stat(word, &st) != 0 || !obstacle_of_owner(word, &owner))
        return 0;
    return complain_empty(word, false);
}

void stats_files_close(struct stats_files *s) {
    for (size_t i = 0; i < s->count; i++)
        reader_free(s->list[i]);
    free(s->list);
    *s = (struct stats_files){.list = NULL};
}

/* ---- adding up ------------------------------------------------------- */

static struct reader_row *row_like(struct reader_row *rows, size_t *count,
                                   const struct reader_row *like) {
    for (size_t i = 0; i < *count; i++)
        if (stats_same_row(&rows[i].id, &like->id))
            return &rows[i];
    rows[*count] = (struct reader_row){.index = like->index, .id = like->id};
    return &rows[(*count)++];
}

struct reader_row *stats_files_merge(const struct stats_files *s, size_t *count) {
    size_t most = 0;
    *count = 0;
    for (size_t i = 0; i < s->count; i++)
        most += s->list[i]->row_count;
    /* room for all rows; untouched pages take no memory */
    struct reader_row *rows = calloc(most ? most : 1, sizeof(*rows));
    if (!rows) {
        complain("%s", strerror(ENOMEM));
        return NULL;
    }
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->list[i]->row_count; k++) {
            const struct reader_row *row = &s->list[i]->rows[k];
            reader_add(&row_like(rows, count, row)->tally, &row->tally);
        }
    return rows;
}
