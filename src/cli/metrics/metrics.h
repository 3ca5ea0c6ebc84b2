/* SPDX-License-Identifier: MIT
 *
 * Segments as metrics.
 */
#ifndef UNSTALL_CLI_METRICS_H
#define UNSTALL_CLI_METRICS_H

#include <stdio.h>

#include "stats_files.h"

enum metrics_form {
    METRICS_OPEN, /* OpenMetrics 1.0 */
    METRICS_TEXT, /* the older text format of Prometheus, 0.0.4 */
};

/* False: no memory, and nothing was written. */
bool metrics_write(FILE *out, const struct stats_files *s, enum metrics_form form);

#endif
