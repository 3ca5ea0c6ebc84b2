/* SPDX-License-Identifier: MIT
 *
 * The report on segments, for people and for programs: report, observe.
 */
#ifndef UNSTALL_CLI_REPORT_H
#define UNSTALL_CLI_REPORT_H

#include <stdio.h>

#include "json.h"
#include "segments.h"

extern const char *const counter_names[SEGMENT_COUNTERS];

/* How long the process has run, as far as is known. */
uint64_t ran_ns(const struct reader_segment *r);

void report_json(FILE *out, const struct segments *s, const struct reader_row *rows,
                 size_t row_count);
void report_text(FILE *out, const struct segments *s, const struct reader_row *rows,
                 size_t row_count);

/* ---- the parts ------------------------------------------------------- */

void json_segment(struct json *j, const struct reader_segment *r);
void json_rows(struct json *j, const struct reader_row *rows, size_t count, bool merged);
void json_patterns(struct json *j, const struct reader_segment *r);

#endif
