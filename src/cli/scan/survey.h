/* SPDX-License-Identifier: MIT
 *
 * One scan from its beginning to its report, for `unstall scan` and for `unstall observe` of a process
 * that has no statistics.
 */
#ifndef UNSTALL_SCAN_SURVEY_H
#define UNSTALL_SCAN_SURVEY_H

#include "diag.h"
#include "source.h"
#include "verdict.h"

/* How many exchanges there were while the scan looked, for its verdict: "no stall" says something only of
 * exchanges.  An exchange has a segment of data in each direction at least, so the smaller growth of the two
 * counters is taken for the number; a connection within this host counts once.  Looks are a second and more
 * apart, and a connection that began and ended in between is not seen. */
struct scan_traffic {
    struct scan_diag *diag;
    uint16_t port; /* 0: any */
    struct scan_filter filter;
    struct traffic_end *before; /* of the last look, sorted */
    size_t before_count;
    bool looked;      /* before */
    uint64_t cost_ns, looked_ns; /* of the last look: how long it took, when it ended (scan_now()) */
    uint64_t exchanges, firsts;
    char because[96]; /* why they cannot be counted; "": they are */
};

struct survey {
    struct scan_options options;
    struct scan_filter filter;
    const char *source_wanted; /* "exact", "sampled", or NULL: the best one */
    char scope[128];           /* "this host", "process 4711" */
    pid_t ends_with;           /* the survey ends with this process; 0: none */
    size_t rows_shown;         /* at most, in a table of the text; 0: as many as it has for a pipe */

    const struct scan_source *source;
    void *state;
    char not_exact[SCAN_ERROR]; /* why the source is `sampled`; "": it was asked for */
    struct scan_table table;
    struct scan_result result;
    const struct stats_files *places; /* where the pieces are written; NULL: not known */
    struct scan_traffic traffic;
    struct verdict verdict; /* after survey_look() */
};

/* From now on SIGINT and SIGTERM end the survey, and a second one ends the command.  False, and the reason in
 * `error`. */
bool survey_begin(struct survey *s, char error[SCAN_ERROR]);

/* Scans for `seconds` (0: without an end) and calls `show`, if it is not NULL, each second.  0 or -errno. */
int survey_look(struct survey *s, double seconds, int (*show)(struct survey *s));

void survey_end(struct survey *s);

/* ---- the report: scan_report_text.c, scan_report_json.c ---- */

void survey_report(FILE *out, const struct survey *s, bool json);
void scan_report_text(FILE *out, const struct survey *s);
void scan_report_json(FILE *out, const struct survey *s);

/* Appends the next command to type, on the process of the heaviest row.  To root only processes outside of
 * its container have no name, and those that have ended: then of the heaviest row that has one.  False: none
 * has. */
bool scan_next(struct prose *p, const struct scan_table *t);

/* The verdict in one sentence; NULL, or what must be known beside one that is not of stalls. */
void scan_sentence(struct prose *p, const struct survey *s, bool ascii);
const char *scan_note(const struct survey *s);

/* How the scan was made. */
void scan_report_head(struct prose *p, const struct survey *s, bool ascii);

/* How many lines stand above the table on a terminal. */
int scan_head_lines(const struct survey *s, FILE *terminal);

#endif
