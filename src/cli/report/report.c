/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "closing.h"
#include "errors.h"
#include "render.h"
#include "terminal.h"

/* The verdict has the terminal's characters in text only. */
int report_on(FILE *out, const struct report *about, void (*form)(FILE *out, const struct report *report)) {
    struct report report = *about;
    FREED struct reader_row *rows = stats_files_merge(about->files, &report.row_count);
    if (!rows)
        return EXIT_OWN;
    static struct report_verdict verdict;
    bool ascii = form == report_text && !speaks_utf8();
    report_verdict_find(&verdict, about->files, rows, report.row_count, ascii);
    report.rows = rows;
    report.verdict = &verdict;
    form(out, &report);
    return verdict_code(verdict_of(&verdict.is));
}

int report_page(const char *path, const struct report *about) {
    struct render page;
    int failed = render_begin(&page, path);
    if (failed)
        return failed;
    int code = report_on(page.json, about, report_json);
    failed = render_end(&page, code != EXIT_OWN);
    return failed ? failed : code;
}
