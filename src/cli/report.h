/* SPDX-License-Identifier: MIT
 *
 * The report on segments, for people and for programs: report, observe.
 */
#ifndef UNSTALL_CLI_REPORT_H
#define UNSTALL_CLI_REPORT_H

#include <stdio.h>

#include "json.h"
#include "segments.h"
#include "verdict.h"

extern const char *const counter_names[SEGMENT_COUNTERS];

enum { WHO_ROOM = 128 };

/* A report: on what, added up, and what is known besides. */
struct report {
    const struct segments *segments;
    const struct reader_row *rows; /* merged */
    size_t row_count;
    char *const *argv; /* the program and its arguments, where we have started it */
};

/* How long the process has run, as far as is known. */
uint64_t ran_ns(const struct reader_segment *r);

/* When the programs connected and wrote first. */
struct verdict_start start_of(const struct segments *s);

void report_json(FILE *out, const struct report *report);
void report_text(FILE *out, const struct report *report);

/* Open, merge, tell, close: 0 or EXIT_OWN, complained. */
int report_on(FILE *out, const struct segments *s, char *const *argv, bool json);

/* ---- the parts ------------------------------------------------------- */

/* "python3 (pid 4711)", "nginx (4 processes)" */
const char *who_text(const struct segments *s, char text[WHO_ROOM]);

/* Has the row anything to tell? */
bool is_used(const struct reader_row *row);

void json_patterns(struct json *j, const struct reader_segment *r);

/* Who wrote the pieces, for people. */
void sites_text(FILE *out, const struct segments *s, unsigned width);

#endif
