/* SPDX-License-Identifier: MIT
 *
 * Shared by the files about call sites only.
 */
#ifndef UNSTALL_CLI_SITES_PARTS_H
#define UNSTALL_CLI_SITES_PARTS_H

#include "prose.h"
#include "sites.h"
#include "symbols.h"

/* The two writes of one occurrence, with the names of their frames. */
struct site {
    struct trace trace[2];
    uint64_t bytes[2]; /* 0: not known */
    char program[64];
};

/* True if the pattern was first seen at the endpoint; NULL: at any. */
bool site_is_at(const struct reader_file *r, const struct stats_pattern *p, const struct stats_row *endpoint);

/* The first occurrence whose stacks were kept, or NULL. */
const struct stats_occurrence *site_occurrence(const struct stats_pattern *p);

/* Names both writes of an occurrence.  NULL: by the return addresses of the pattern alone. */
void site_name(struct symbols *s, const struct reader_file *r, const struct stats_pattern *p,
               const struct stats_occurrence *o, struct site *site);

/* The innermost frame in which the two traces differ: if both writes come through one wrapper, that frame
 * tells more than the wrapper.  -1: they do not differ, or one of them is empty. */
int site_author(const struct site *site);

/* The index of the frame to show for write `which`, if the traces differ in frame `author`.  It is that
 * frame; if that belongs to an interpreter, the next frame of a script outward.  The count of the trace:
 * there is none. */
unsigned site_frame(const struct site *site, unsigned which, unsigned author);

/* If frame `author` is in a runtime's module or a library: the innermost frame of the program itself, or
 * NULL. */
const struct frame *site_program(const struct trace *t, unsigned author);

/* "36 messages, 36 stalls, 1.20 s lost: the first piece is written by …; the second by …: join them." */
void site_sentence(struct prose *p, const struct stats_pattern *pattern, const struct site *site, bool ascii);

/* True if a script has written it, and its function is not known. */
bool site_is_unnamed(const struct site *site);

#endif
