/* SPDX-License-Identifier: MIT
 *
 * Statistics files as metrics.
 */
#ifndef UNSTALL_CLI_METRICS_H
#define UNSTALL_CLI_METRICS_H

#include <stdio.h>

#include "openmetrics.h"
#include "stats_files.h"

/* False: no memory, and nothing was written. */
bool metrics_write(FILE *out, const struct stats_files *s, enum metrics_form form);

#endif
