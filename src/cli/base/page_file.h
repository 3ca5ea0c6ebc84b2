/* SPDX-License-Identifier: MIT
 *
 * The file of a page or a report: it appears whole under its name, or not at all.  A device or a pipe is
 * written to directly.
 */
#ifndef UNSTALL_CLI_PAGE_FILE_H
#define UNSTALL_CLI_PAGE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct page_file {
    FILE *out;
    const char *option, *path; /* the option that names it: "--html" */
    char target[PATH_MAX]; /* `path` without symbolic links */
    char draft[PATH_MAX];  /* beside it; "": standard output, a device or a pipe */
};

/* `path` "-" is standard output.  0, or EXIT_OWN and a complaint. */
int page_file_open(struct page_file *p, const char *option, const char *path);

/* Whether a page could be written there, before the work for it begins.  0, or EXIT_OWN and a complaint. */
int page_file_try(const char *option, const char *path);

/* Gives the file its name, or removes it if it is not to be kept.  0, or EXIT_OWN and a complaint. */
int page_file_close(struct page_file *p, bool keep);

#endif
