/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <stdlib.h>

#include "errors.h"
#include "page_file.h"

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
    struct page_file page;
    int failed = page_file_open(&page, "--html", path);
    if (failed)
        return failed;
    failed = report_on(page.out, about, report_html);
    int closed = page_file_close(&page, failed == 0);
    return failed ? failed : closed;
}
