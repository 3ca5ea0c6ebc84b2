/* SPDX-License-Identifier: MIT
 *
 * What the numbers mean, in one sentence, and what to do next.  Pure: rows in, words
 * out.
 */
#ifndef UNSTALL_CLI_VERDICT_H
#define UNSTALL_CLI_VERDICT_H

#include <stdbool.h>

#include "prose.h"
#include "reader.h"

enum verdict_kind {
    VERDICT_STALLS,
    VERDICT_PEER_STALLS,
    VERDICT_CURED,
    VERDICT_SUSPECTED,
    VERDICT_UNSEEN,      /* most of what was sent was not seen written */
    VERDICT_APPLICATION, /* not the network */
    VERDICT_NO_STALL,
    VERDICT_NOT_LOOKED, /* the mode does not look for stalls */
    VERDICT_NOTHING,    /* no bytes seen */
};

enum { VERDICT_NOTES = 8 };

struct verdict {
    enum verdict_kind kind;
    struct prose sentence;
    unsigned note_count; /* what else is true */
    struct prose note[VERDICT_NOTES];
    const struct reader_row *row; /* the one that it is about, or NULL */
};

/* Added up over the programs in which it is a fair share of the time: from the load until
 * they connected first, and until they wrote; and what they waited for answers. */
struct verdict_start {
    uint64_t connected_ns, written_ns, waited_ns;
    size_t processes;
};

/* `name` is who is judged: "python3 (pid 4711)". */
void verdict_find(struct verdict *v, const char *name, const struct reader_row *rows, size_t count,
                  const struct verdict_start *start, bool ascii);

/* The kind as JSON has it. */
const char *verdict_name(enum verdict_kind kind);

#endif
