/* SPDX-License-Identifier: MIT
 *
 * The call sites in a report: the code that wrote the first piece of a message, and the code that wrote
 * the second.
 */
#ifndef UNSTALL_CLI_SITES_H
#define UNSTALL_CLI_SITES_H

#include <stdio.h>

#include "json.h"
#include "stats_files.h"

/* For people: the sites of the few processes that lost most.  True: a script has written, and its
 * functions are not known. */
bool sites_text(FILE *out, const struct stats_files *s, unsigned width);

/* The bytes of the first and the second piece, of the pair of call sites that lost most; 0: not known. */
void sites_pieces(const struct stats_files *s, uint64_t bytes[2]);

/* For programs: the member "patterns", all of it. */
void sites_json(struct json *j, const struct reader_file *r);

#endif
