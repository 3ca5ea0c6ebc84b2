/* SPDX-License-Identifier: MIT
 *
 * The parts of the command that are written in Python: src/analysis (`unstall ab`) and src/pages.
 */
#ifndef UNSTALL_CLI_PYTHON_H
#define UNSTALL_CLI_PYTHON_H

#include <limits.h>
#include <stdbool.h>

/* Debian's own interpreter: Debian's numpy belongs to it. */
#define PYTHON "/usr/bin/python3"

/* Without the environment, the user's packages and .pyc files. */
#define PYTHON_ALONE "-E", "-s", "-B"

/* The path of the command itself; false if it cannot be known. */
bool command_itself(char path[PATH_MAX]);

/* The folder of one of the parts, "analysis"; false if it is not installed. */
bool python_part(const char *name, char path[PATH_MAX]);

#endif
