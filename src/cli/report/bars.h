/* SPDX-License-Identifier: MIT
 *
 * A histogram of times as bars of text.
 */
#ifndef UNSTALL_CLI_BARS_H
#define UNSTALL_CLI_BARS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* `buckets` has HISTOGRAM_BUCKETS entries; `ascii` draws with '#'.  Prints no line if all are empty. */
void bars_print(FILE *out, const uint64_t *buckets, unsigned width, bool ascii);

#endif
