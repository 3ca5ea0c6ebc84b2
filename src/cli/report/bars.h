/* SPDX-License-Identifier: MIT
 *
 * A histogram of times, drawn in the terminal.
 */
#ifndef UNSTALL_CLI_BARS_H
#define UNSTALL_CLI_BARS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* `buckets` are HISTOGRAM_BUCKETS; `ascii` draws with '#'.  Nothing if all are empty. */
void bars_print(FILE *out, const uint64_t *buckets, unsigned width, bool ascii);

#endif
