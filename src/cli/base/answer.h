/* SPDX-License-Identifier: MIT
 *
 * What another program answers, such as systemctl or podman.
 */
#ifndef UNSTALL_CLI_ANSWER_H
#define UNSTALL_CLI_ANSWER_H

#include <stdbool.h>

/* Runs it with an empty input, and waits for its end for so long; then it is killed, and *late is true.  Its
 * exit code, or -errno if it could not be run.  *text, which the caller frees: its output, and its errors too
 * if they are wanted, without newlines at the end; if it was late, a sentence; NULL without memory. */
int answer_of(const char *const *words, int seconds, bool errors, char **text, bool *late);

#endif
