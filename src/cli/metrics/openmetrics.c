/* SPDX-License-Identifier: MIT */
#include "openmetrics.h"

#include <inttypes.h>
#include <string.h>

void openmetrics_label(char *labels, size_t size, const char *name, const char *value) {
    size_t used = strlen(labels);
    used += (size_t)snprintf(labels + used, size - used, "%s%s=\"", used ? "," : "", name);
    for (const char *c = value; *c && used + 4 < size; c++) {
        if (*c == '"' || *c == '\\')
            labels[used++] = '\\';
        labels[used++] = *c;
    }
    snprintf(labels + used, size - used, "\"");
}

void openmetrics_family(FILE *out, enum metrics_form form, const char *name, const char *type,
                        const char *unit, const char *help) {
    bool open = form == METRICS_OPEN;
    const char *suffix = "";
    if (!open && strcmp(type, "counter") == 0)
        suffix = "_total";
    if (!open && strcmp(type, "info") == 0) {
        suffix = "_info";
        type = "gauge";
    }
    fprintf(out, "# TYPE unstall_%s%s %s\n", name, suffix, type);
    if (open && unit)
        fprintf(out, "# UNIT unstall_%s %s\n", name, unit);
    fprintf(out, "# HELP unstall_%s%s %s\n", name, suffix, help);
}

void openmetrics_seconds(FILE *out, uint64_t ns) {
    fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}
