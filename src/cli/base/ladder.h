/* SPDX-License-Identifier: MIT
 *
 * One exchange as a ladder: two life lines, an arrow for each segment, and the bytes that are held back
 * between them.
 */
#ifndef UNSTALL_CLI_LADDER_H
#define UNSTALL_CLI_LADDER_H

#include "json.h"

enum { LADDER_STEPS = 8, LADDER_COLUMNS = 80 };

enum ladder_kind {
    LADDER_DATA,   /* a segment of the writer */
    LADDER_HELD,   /* the writer's bytes wait from here to its next segment, or to the end */
    LADDER_ACK,    /* the peer's bare acknowledgement, delayed */
    LADDER_ANSWER, /* the peer's data */
    LADDER_NEXT,   /* the same, where the writer is a server */
};

struct ladder_step {
    enum ladder_kind kind;
    int64_t at_ns;  /* since the first step; not decreasing */
    uint64_t bytes; /* 0: not known */
};

struct ladder {
    const char *writer, *peer;
    bool predicted; /* not measured */
    unsigned count;
    struct ladder_step step[LADDER_STEPS];
};

void ladder_add(struct ladder *l, enum ladder_kind kind, int64_t at_ns, uint64_t bytes);

/* In `width` columns, from 40 on; `ascii` uses ASCII only. */
void ladder_text(FILE *out, const struct ladder *l, unsigned width, bool ascii);

/* One entry of the array `ladders`: the JSON that src/pages draws. */
void ladder_json(struct json *j, const struct ladder *l, const char *caption);

#endif
