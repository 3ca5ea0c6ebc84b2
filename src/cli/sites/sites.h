/* SPDX-License-Identifier: MIT
 *
 * The call sites in a report: the code that wrote the first piece of a message, and the code that wrote
 * the second.
 */
#ifndef UNSTALL_CLI_SITES_H
#define UNSTALL_CLI_SITES_H

#include "json.h"
#include "prose.h"
#include "symbols.h"

struct stats_files;

/* The two writes, with the names of their frames. */
struct site {
    struct trace trace[2];
    uint64_t bytes[2]; /* 0: not known */
    char program[64];
};

/* The innermost frame in which the two traces differ: if both writes come through one wrapper, that frame
 * tells more than the wrapper.  -1: they do not differ, or one of them is empty. */
int site_author(const struct site *site);

/* "send (server.py:3), called from main (app.py:7)": who has made write `which`, if they differ in frame
 * `author`. */
void site_add_author(struct prose *p, const struct site *site, unsigned which, unsigned author);

/* A file counts a pair of call sites for one row, the one that it was first seen at.  `endpoint` (NULL: all)
 * takes the pairs of rows with its role and address; arm and mode do not matter. */

/* For people: the sites of the few processes that lost most.  If no pair was first seen at the endpoint, all
 * pairs, under a heading that says so.  True: a script has written, and its functions are not known. */
bool sites_text(FILE *out, const struct stats_files *s, const struct stats_row *endpoint, unsigned width);

/* The bytes of the first and the second piece, of the pair of call sites that lost most; 0: not known. */
void sites_pieces(const struct stats_files *s, const struct stats_row *endpoint, uint64_t bytes[2]);

/* For programs: the member "patterns", all of it, each with its sentence.  True: as of sites_text(). */
bool sites_json(struct json *j, const struct reader_file *r);

#endif
