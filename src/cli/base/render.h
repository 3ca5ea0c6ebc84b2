/* SPDX-License-Identifier: MIT
 *
 * A page of HTML (--html): the JSON of a report, drawn by src/pages, which is written in Python.
 *
 * render_begin() opens the file, so that a path that cannot be written is said before the work; the caller
 * writes the JSON that --json would print to `json`; render_end() has it drawn.
 */
#ifndef UNSTALL_CLI_RENDER_H
#define UNSTALL_CLI_RENDER_H

#include "page_file.h"

struct render {
    FILE *json;
    struct page_file file;
    char renderer[PATH_MAX];
};

/* All return 0, or EXIT_OWN and a complaint. */

/* Whether a page could be drawn and written there. */
int render_try(const char *path);

int render_begin(struct render *r, const char *path);

/* Draws the page, or leaves no trace of it if it is not to be kept. */
int render_end(struct render *r, bool keep);

#endif
