/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <stdlib.h>

#include "errors.h"

int report_on(FILE *out, const struct stats_files *s, char *const *argv,
              void (*form)(FILE *out, const struct report *report)) {
    struct report report = {.files = s, .argv = argv};
    struct reader_row *rows = stats_files_merge(s, &report.row_count);
    if (!rows)
        return EXIT_OWN;
    report.rows = rows;
    form(out, &report);
    free(rows);
    return 0;
}
