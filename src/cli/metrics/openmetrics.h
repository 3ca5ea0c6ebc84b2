/* SPDX-License-Identifier: MIT
 *
 * The lines of OpenMetrics, and of the older text format of Prometheus.
 */
#ifndef UNSTALL_CLI_OPENMETRICS_H
#define UNSTALL_CLI_OPENMETRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum metrics_form {
    METRICS_OPEN, /* OpenMetrics 1.0 */
    METRICS_TEXT, /* the older text format of Prometheus, 0.0.4 */
};

/* The head of a family; `unit` may be NULL. */
void openmetrics_family(FILE *out, enum metrics_form form, const char *name, const char *type,
                        const char *unit, const char *help);

/* Appends a label to `labels`.  Escapes `"` and `\`.  A newline would need an escape too, but values come
 * from safe_text(), which leaves printable ASCII only. */
void openmetrics_label(char *labels, size_t size, const char *name, const char *value);

void openmetrics_seconds(FILE *out, uint64_t ns);

#endif
