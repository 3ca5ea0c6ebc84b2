/* SPDX-License-Identifier: MIT
 *
 * A packet capture of the kinds that libpcap reads.
 */
#ifndef UNSTALL_CLI_CAPTURE_H
#define UNSTALL_CLI_CAPTURE_H

#include <stdio.h>

#include "findings.h"

/* Reads to the end and closes `in`; out->stopped says if and where it stopped earlier.  0, or -errno if the
 * file cannot be read. */
int explain_capture(FILE *in, struct findings *out);

#endif
