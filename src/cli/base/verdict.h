/* SPDX-License-Identifier: MIT
 *
 * The one verdict of scan, observe, explain, report and status: sentence, JSON, page and exit code come from
 * it (docs/design.md, "The verdict").  Pure.
 */
#ifndef UNSTALL_CLI_VERDICT_H
#define UNSTALL_CLI_VERDICT_H

#include "json.h"
#include "prose.h"

enum verdict_kind { VERDICT_STALLS, VERDICT_NONE, VERDICT_TOO_FEW, VERDICT_CANNOT_TELL };

/* So many exchanges, beyond the first of each connection, are enough where every stall is seen. */
enum { VERDICT_LEAST = 3 };

enum { VERDICT_BECAUSE = 512 };

/* What was seen. */
struct verdict {
    uint64_t stalls;    /* that something waited for: none of a stream without answers */
    uint64_t exchanges; /* in all */
    uint64_t firsts;    /* of these, the first ones of their connections, which never stall */
    uint64_t least;     /* how many of the others are enough; 0: VERDICT_LEAST */
    bool estimated;     /* the exchanges were not counted one by one */
    char because[VERDICT_BECAUSE]; /* why nothing can be told ("writes bypass the library"); "": it can */
};

enum verdict_kind verdict_of(const struct verdict *v);

/* The exchanges that could have stalled. */
uint64_t verdict_exchanges(const struct verdict *v);

/* "stalls", "none", "too-few", "cannot-tell" */
const char *verdict_name(enum verdict_kind kind);

/* 1 stalls, 0 none, 2 it cannot be told. */
int verdict_code(enum verdict_kind kind);

/* The code for several files: of the worst verdict, or a greater one, which is no verdict. */
int verdict_worst(int one, int other);

/* Sets the reason why nothing can be told. */
void verdict_because(struct verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The sentence on anything but stalls, without its full stop: "No stall in 96 exchanges with 10.0.0.1:80, the
 * first of each connection not counted".  `where`: " with 10.0.0.1:80", or "". */
void verdict_words(struct prose *p, const struct verdict *v, const char *where);

/* The members of the object `verdict`, which the caller has begun and ends. */
void verdict_json(struct json *j, const struct verdict *v, const char *sentence);

#endif
