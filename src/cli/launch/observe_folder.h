/* SPDX-License-Identifier: MIT
 *
 * The folder in memory in which `unstall observe` keeps the statistics of a running program.
 */
#ifndef UNSTALL_CLI_OBSERVE_FOLDER_H
#define UNSTALL_CLI_OBSERVE_FOLDER_H

#include <stddef.h>

/* Makes a new folder on tmpfs with mode 0700, which has a lock as long as this process lives.  0, or EXIT_OWN
 * and a complaint.  Beside it, the folders that observes have left which were killed are removed. */
int observe_folder_make(char *path, size_t size);

/* Removes the folder and its statistics files; any other file stays, and the folder with it. */
void observe_folder_remove(const char *path);

#endif
