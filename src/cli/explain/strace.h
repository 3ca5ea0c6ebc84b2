/* SPDX-License-Identifier: MIT
 *
 * A log of strace.
 */
#ifndef UNSTALL_CLI_STRACE_H
#define UNSTALL_CLI_STRACE_H

#include <stdio.h>

#include "findings.h"

/* Reads to the end, or to where out->stopped says, and closes `in`.  0, or -errno if it cannot be read. */
int explain_strace(FILE *in, struct findings *out);

#endif
