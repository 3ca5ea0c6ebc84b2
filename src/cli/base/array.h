/* SPDX-License-Identifier: MIT */
#ifndef UNSTALL_CLI_ARRAY_H
#define UNSTALL_CLI_ARRAY_H

/* How many elements an array has; spelt as in the library's base.h, so that a file may include both. */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
