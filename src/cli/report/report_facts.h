/* SPDX-License-Identifier: MIT
 *
 * Facts about processes that both forms of the report state.
 */
#ifndef UNSTALL_CLI_REPORT_FACTS_H
#define UNSTALL_CLI_REPORT_FACTS_H

#include "report.h"

enum { PROGRAMS_ROOM = 128 };

/* How long the process has run; 0 if it is not known. */
uint64_t ran_ns(const struct reader_file *r);

/* "python3 (pid 4711)", "nginx (4 processes)": the processes that stall at this row, or all (NULL).
 * The number of different programs. */
size_t programs_text(const struct stats_files *s, const struct reader_row *row, char text[PROGRAMS_ROOM]);

/* True if a row needs its mode to be told: not all processes and rows have the same one. */
bool modes_differ(const struct report *r);

/* The row of this process that was added to the merged one, or NULL. */
const struct reader_row *row_in(const struct reader_file *f, const struct reader_row *merged);

/* The command by which this running process gets a mode. */
void report_set(struct prose *p, const struct reader_file *process, const char *mode);

/* The command to type next, with the program; false if there is none. */
bool report_next(struct prose *p, const struct report *r, const struct report_verdict *v);

/* What the statistics files lack: sentences, and their number. */
enum { REPORT_LOSSES = 3 };
unsigned report_losses(const struct stats_files *s, struct prose p[REPORT_LOSSES]);

/* The answer of the runtime's own tool or, if the lines of a script are not named, the name of the tool that
 * would know them.  Nothing if there is neither. */
void report_who(struct prose *p, const struct report *r, bool unnamed);

#endif
