/* SPDX-License-Identifier: MIT
 *
 * The place of libunstall.so: beside the command, in the installed libdir (also if the whole tree was moved
 * since), or in the build folder.
 *
 * The returned paths stay valid.
 */
#ifndef UNSTALL_CLI_LIBRARY_H
#define UNSTALL_CLI_LIBRARY_H

/* The installed library, or NULL. */
const char *library_installed(void);

/* The library to preload: `named` (the value of --library), or without it the installed one.  NULL and a
 * complaint if it cannot be preloaded. */
const char *library_find(const char *named);

/* The value of LD_PRELOAD: the libraries of `own` (which may be NULL), then `library`.  The user's own
 * libraries come first: a sanitizer's must be the first, and calls that pass through another library are part
 * of the program.  Another libunstall.so is removed.  The caller frees the list; NULL: no memory. */
char *preload_list(const char *own, const char *library);

#endif
