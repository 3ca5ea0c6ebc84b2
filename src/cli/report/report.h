/* SPDX-License-Identifier: MIT
 *
 * The report on statistics files, for people and for programs: `unstall report`, `unstall observe`.
 */
#ifndef UNSTALL_CLI_REPORT_H
#define UNSTALL_CLI_REPORT_H

#include "report_verdict.h"
#include "who.h"

struct report {
    const struct stats_files *files;
    const struct reader_row *rows; /* of all statistics files, merged */
    size_t row_count;
    const struct report_verdict *verdict;
    char *const *argv; /* the program and its arguments if this command started it, or NULL */
    const struct who *who; /* the answer of the runtime's tool; NULL: it was not asked */
};

void report_json(FILE *out, const struct report *report);
void report_text(FILE *out, const struct report *report);

/* Merges the rows of `about->files`, finds the verdict and writes the report in a form.  The verdict's code,
 * or EXIT_OWN and a complaint. */
int report_on(FILE *out, const struct report *about, void (*form)(FILE *out, const struct report *report));

/* The same as a page: a whole file ("-": standard output) or none. */
int report_page(const char *path, const struct report *about);

#endif
