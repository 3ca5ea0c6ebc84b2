/* SPDX-License-Identifier: MIT
 *
 * Variables whose file is closed, or whose memory is freed, where their block ends:
 *     CLOSED_FILE *f = fopen(path, "re");
 * One that was not opened (NULL, -1) does no harm.
 */
#ifndef UNSTALL_STATS_FILE_CLOSING_H
#define UNSTALL_STATS_FILE_CLOSING_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void close_file(FILE *const *f) {
    if (*f)
        fclose(*f);
}

static inline void close_folder(DIR *const *folder) {
    if (*folder)
        closedir(*folder);
}

static inline void close_descriptor(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

static inline void free_memory(void *pointer) {
    free(*(void **)pointer);
}

#define CLOSED_FILE   __attribute__((cleanup(close_file))) FILE
#define CLOSED_FOLDER __attribute__((cleanup(close_folder))) DIR
#define CLOSED_FD     __attribute__((cleanup(close_descriptor), unused)) int
#define FREED         __attribute__((cleanup(free_memory)))

#endif
