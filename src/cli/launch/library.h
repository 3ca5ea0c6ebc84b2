/* SPDX-License-Identifier: MIT
 *
 * The place of libunstall.so: beside the command, in the installed libdir (also if the whole tree was moved
 * since), or in the build folder.  The returned paths stay valid.
 *
 * There is one for each word size that this machine runs.  ld.so(8) loads a library of the program's own word
 * size only, and complains about another one on standard error.  It replaces $LIB in LD_PRELOAD by its own
 * folder (lib/x86_64-linux-gnu, lib32), so that one entry names both libraries: PREFIX/$LIB/libunstall.so.
 * docs/architectures.md has what each form of the entry prints.
 */
#ifndef UNSTALL_CLI_LIBRARY_H
#define UNSTALL_CLI_LIBRARY_H

#include <limits.h>

#include "elf_facts.h"

/* The installed library, or NULL. */
const char *library_installed(void);

/* The library to preload: `named` (the value of --library), or without it the installed one.  NULL and a
 * complaint if it cannot be preloaded. */
const char *library_find(const char *named);

/* The value of LD_PRELOAD: the libraries of `own` (which may be NULL), then `library`.  The user's own
 * libraries come first: a sanitizer's must be the first, and calls that pass through another library are part
 * of the program.  Another libunstall.so is removed.  The caller frees the list; NULL: no memory. */
char *preload_list(const char *own, const char *library);

struct preload_entry {
    char file[PATH_MAX];   /* the library that the program loads */
    char listed[PATH_MAX]; /* how LD_PRELOAD names it */
};

/* The entry for a program with these facts.  `library` is the library that was found or named.  If the other
 * word size has a library in its own folder, `listed` has $LIB.  If the program's word size has no library,
 * `file` and `listed` are `library`. */
void preload_entry(struct preload_entry *e, const char *library, const struct elf_facts *program);

#endif
