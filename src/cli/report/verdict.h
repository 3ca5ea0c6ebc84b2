/* SPDX-License-Identifier: MIT
 *
 * The meaning of the counters in one sentence, and notes.  Pure: statistics in, words out.
 */
#ifndef UNSTALL_CLI_VERDICT_H
#define UNSTALL_CLI_VERDICT_H

#include <stdbool.h>

#include "prose.h"
#include "stats_files.h"

enum verdict_kind {
    VERDICT_STALLS,
    VERDICT_PEER_STALLS,
    VERDICT_CURED,
    VERDICT_SUSPECTED,
    VERDICT_UNSEEN,      /* the library saw no write for most bytes sent */
    VERDICT_APPLICATION, /* the application's own time, not the network's */
    VERDICT_NO_STALL,
    VERDICT_TOO_FEW, /* exchanges that could have stalled */
    VERDICT_NOT_LOOKED, /* the mode does not look for stalls */
    VERDICT_NOTHING,    /* no bytes seen */
};

enum { VERDICT_NOTES = 8 };

struct verdict {
    enum verdict_kind kind;
    struct prose sentence;
    unsigned note_count; /* further findings */
    struct prose note[VERDICT_NOTES];
    const struct reader_row *row; /* the row of the verdict, or NULL */
    bool past;   /* its stalls are those of a mode that has been replaced by one that cures them */
    bool behind; /* most of its stalls are of a small message behind an earlier one: no pieces to join */
};

/* Sums over the processes whose start is a fair share of their time: from the load to the first connect,
 * from the load to the first write, and the wait for answers. */
struct verdict_start {
    uint64_t connected_ns, written_ns, waited_ns;
    size_t processes;
};

/* `rows`: of all the files, merged. */
void verdict_find(struct verdict *v, const struct stats_files *files, const struct reader_row *rows,
                  size_t count, bool ascii);

/* The kind as JSON has it. */
const char *verdict_name(enum verdict_kind kind);

#endif
