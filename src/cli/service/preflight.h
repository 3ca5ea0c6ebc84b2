/* SPDX-License-Identifier: MIT
 *
 * Checks that the library can work in a service: its programs, its user, and the files and system calls that
 * its sandbox permits.
 */
#ifndef UNSTALL_CLI_PREFLIGHT_H
#define UNSTALL_CLI_PREFLIGHT_H

#include <limits.h>
#include <stdbool.h>

#include "unit.h"

/* 0, or EXIT_OWN and a complaint about the first obstacle.  `force`: obstacles are remarks.
 * `stats`: a statistics folder is wanted too.  `listed`: how LD_PRELOAD of the unit names the library. */
int unit_preflight(const struct unit *u, const char *library, bool stats, bool force,
                   char listed[PATH_MAX]);

/* The path of the program of an ExecStart= value, into path[size]; false if there is none. */
bool exec_path(const char *exec, char *path, size_t size);

#endif
