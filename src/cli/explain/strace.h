/* SPDX-License-Identifier: MIT
 *
 * A log of strace.
 */
#ifndef UNSTALL_CLI_STRACE_H
#define UNSTALL_CLI_STRACE_H

#include <stdio.h>

#include "findings.h"

/* Reads to the end and closes `in`; out->stopped says if and where it stopped earlier.  0, or -errno if the
 * file cannot be read. */
int explain_strace(FILE *in, struct findings *out);

#endif
