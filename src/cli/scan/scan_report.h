/* SPDX-License-Identifier: MIT
 *
 * The report of a scan, as text and as JSON.
 */
#ifndef UNSTALL_SCAN_REPORT_H
#define UNSTALL_SCAN_REPORT_H

#include "survey.h"

/* Appends the next command to type, on the process of the heaviest row.  To root only processes outside of
 * its container have no name, and those that have ended: then of the heaviest row that has one.  False: none
 * has. */
bool scan_next(struct prose *p, const struct scan_table *t);

void scan_report_text(FILE *out, const struct survey *s);
void scan_report_json(FILE *out, const struct survey *s);

/* The verdict in one sentence; NULL, or what must be known beside one that is not of stalls. */
void scan_sentence(struct prose *p, const struct survey *s, bool ascii);
const char *scan_note(const struct survey *s);

/* Shared by both: how the scan was made, and a process with its id or its user. */
void scan_report_head(struct prose *p, const struct survey *s, bool ascii);
const char *scan_process_text(const struct scan_process *p, uint32_t uid, char *text, size_t size);

const char *scan_kind_name(enum scan_kind kind);

#endif
