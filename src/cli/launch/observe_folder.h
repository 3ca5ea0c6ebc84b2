/* SPDX-License-Identifier: MIT
 *
 * The folder in memory in which observe keeps the statistics of a program while it
 * runs.
 */
#ifndef UNSTALL_CLI_OBSERVE_FOLDER_H
#define UNSTALL_CLI_OBSERVE_FOLDER_H

#include <stddef.h>

/* A new folder on tmpfs, our own, for nobody else.  0, or EXIT_OWN, complained. */
int observe_folder_make(char *path, size_t size);

/* With the segments in it, and nothing else. */
void observe_folder_remove(const char *path);

#endif
