/* SPDX-License-Identifier: MIT
 *
 * The meaning of the counters in one sentence, and notes.  Pure: statistics in, words out.
 */
#ifndef UNSTALL_CLI_REPORT_VERDICT_H
#define UNSTALL_CLI_REPORT_VERDICT_H

#include "stats_files.h"
#include "verdict.h"

/* What the sentence is about. */
enum found {
    FOUND_STALLS,
    FOUND_PEER_STALLS,
    FOUND_CURED,
    FOUND_SUSPECTED,
    FOUND_UNSEEN,      /* the library saw no write for most bytes sent */
    FOUND_APPLICATION, /* no stall, and the application's own time is long */
    FOUND_NO_STALL,    /* or too few exchanges to tell */
    FOUND_NOT_LOOKED,  /* the mode does not look for stalls */
    FOUND_NOTHING,     /* no bytes seen */
};

enum { REPORT_NOTES = 8 };

struct report_verdict {
    struct verdict is;
    enum found found;
    struct prose sentence;
    unsigned note_count; /* further findings */
    struct prose note[REPORT_NOTES];
    const struct reader_row *row; /* the row of the verdict, or NULL */
    bool past;   /* its stalls are those of a mode that has been replaced by one that cures them */
    bool behind; /* most of its stalls are of a small message behind an earlier one: no pieces to join */
};

/* `rows`: of all the files, merged. */
void report_verdict_find(struct report_verdict *v, const struct stats_files *files,
                         const struct reader_row *rows, size_t count, bool ascii);

/* What was found, as JSON has it. */
const char *report_found_name(enum found found);

#endif
