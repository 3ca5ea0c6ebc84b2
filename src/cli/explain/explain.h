/* SPDX-License-Identifier: MIT
 *
 * `unstall explain`: the stalls in a packet capture or in a log of strace.
 *
 * explain_open() reads a file into findings, and explain_text() or explain_json() writes them.
 */
#ifndef UNSTALL_CLI_EXPLAIN_H
#define UNSTALL_CLI_EXPLAIN_H

#include "findings.h"
#include "ladder.h"

/* Recognises the kind of a file by its first bytes, reads it and closes it.  0, or -errno if nothing could be
 * read; out->stopped says why. */
int explain_open(FILE *in, const char *name, struct findings *out);

/* The two kinds.  Each reads to the end and closes `in`; out->stopped says if and where it stopped earlier.
 * 0, or -errno if the file cannot be read. */
int explain_capture(FILE *in, struct findings *out); /* of the kinds that libpcap reads */
int explain_strace(FILE *in, struct findings *out);

/* They have read so many packets or lines: a long file shows it on a terminal. */
void progress_step(uint64_t entries);

void explain_text(FILE *out, const char *name, const struct findings *f);
void explain_json(struct json *j, const char *name, const struct findings *f);

/* Two ladders: the first example of a sender, and the same exchange as it runs cured.  The second one shows a
 * message of the file that was not held, or else a prediction.  The ladder points to names in `r`. */
struct ladder explain_ladder(const struct findings *f, const struct finding *r);
struct ladder explain_ladder_cured(const struct findings *f, const struct finding *r);

/* What the second one shows: recorded, and where, or predicted.  Returns `text`. */
const char *explain_ladder_caption(const struct findings *f, const struct finding *r, char text[NOTE_TEXT]);

#endif
