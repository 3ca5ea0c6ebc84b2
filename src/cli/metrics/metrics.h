/* SPDX-License-Identifier: MIT
 *
 * Metrics of statistics files, and of a scan of the whole host: as OpenMetrics, or in the older text format
 * of Prometheus.
 */
#ifndef UNSTALL_CLI_METRICS_H
#define UNSTALL_CLI_METRICS_H

#include <stdio.h>

#include "stats_files.h"

struct scan_host;

enum metrics_form {
    METRICS_OPEN, /* OpenMetrics 1.0 */
    METRICS_TEXT, /* the older text format of Prometheus, 0.0.4 */
};

/* False: no memory, and nothing was written. */
bool metrics_write(FILE *out, const struct stats_files *s, enum metrics_form form);

void host_metrics_write(FILE *out, struct scan_host *h, enum metrics_form form);

/* ---- its lines ---- */

/* The head of a family; `unit` may be NULL. */
void openmetrics_family(FILE *out, enum metrics_form form, const char *name, const char *type,
                        const char *unit, const char *help);

/* Appends a label to `labels`.  Escapes `"` and `\`.  A newline would need an escape too, but values come
 * from safe_text(), which leaves printable ASCII only. */
void openmetrics_label(char *labels, size_t size, const char *name, const char *value);

void openmetrics_seconds(FILE *out, uint64_t ns);

#endif
