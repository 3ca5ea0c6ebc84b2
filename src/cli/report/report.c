/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <stdlib.h>

#include "errors.h"
#include "render.h"

int report_on(FILE *out, const struct report *about, void (*form)(FILE *out, const struct report *report)) {
    struct report report = *about;
    struct reader_row *rows = stats_files_merge(about->files, &report.row_count);
    if (!rows)
        return EXIT_OWN;
    report.rows = rows;
    form(out, &report);
    free(rows);
    return 0;
}

int report_page(const char *path, const struct report *about) {
    struct render page;
    int failed = render_begin(&page, path);
    if (failed)
        return failed;
    failed = report_on(page.json, about, report_json);
    int drawn = render_end(&page, failed == 0);
    return failed ? failed : drawn;
}
