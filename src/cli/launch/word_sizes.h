/* SPDX-License-Identifier: MIT
 *
 * One library for each word size that this machine runs.
 *
 * ld.so(8) loads a library of the program's own word size only, and complains about another one on standard
 * error.  It replaces $LIB in LD_PRELOAD by its own folder (lib/x86_64-linux-gnu, lib32), so that one entry
 * names both libraries: PREFIX/$LIB/libunstall.so.  docs/architectures.md has what each form of the entry
 * prints.
 */
#ifndef UNSTALL_CLI_WORD_SIZES_H
#define UNSTALL_CLI_WORD_SIZES_H

#include <limits.h>

#include "elf_facts.h"

struct preload_entry {
    char file[PATH_MAX];   /* the library that the program loads */
    char listed[PATH_MAX]; /* how LD_PRELOAD names it */
};

/* The entry for a program with these facts.  `library` is the library that was found or named.  If the other
 * word size has a library in its own folder, `listed` has $LIB.  If the program's word size has no library,
 * `file` and `listed` are `library`. */
void preload_entry(struct preload_entry *e, const char *library, const struct elf_facts *program);

#endif
