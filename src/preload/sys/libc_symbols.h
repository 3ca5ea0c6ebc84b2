/* SPDX-License-Identifier: MIT
 *
 * The address of a name in libc, read from libc's own symbol table.
 *
 * dlsym(RTLD_NEXT) costs about 1000 instructions a name, half of the start of a program
 * (docs/decisions.md).  It also takes the dynamic linker's lock, so it must not run at the first call
 * of a name, which may be in a signal handler or in a child of fork(2).  These functions only read
 * memory that never changes.
 *
 * They answer only if dlsym would surely give the same answer: no library between us and libc has
 * the name, and libc defines it as a plain function.  In every other case the result is NULL, and the
 * caller asks dlsym.
 */
#ifndef UNSTALL_LIBC_SYMBOLS_H
#define UNSTALL_LIBC_SYMBOLS_H

#include <link.h>

#include "base.h"

enum { LIBC_SYMBOLS_LIBRARIES = 24 };

struct symbol_table {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint16_t *versions; /* of each symbol; NULL: this library has none */
    const char *version_names; /* ElfW(Verdef), of different sizes */
    size_t version_count;
    const ElfW(Addr) * bloom;
    const uint32_t *buckets, *chains;
    uint32_t bucket_count, first_symbol, bloom_words, bloom_shift;
};

/* The libraries behind us in the search order, as far as libc, which is the last. */
struct libc_symbols {
    struct symbol_table libraries[LIBC_SYMBOLS_LIBRARIES];
    size_t count; /* 0: nothing is known; it is written last */
};

void libc_symbols_open(struct libc_symbols *s);

/* True: a library between us and libc has the name. */
bool libc_symbols_elsewhere(const struct libc_symbols *s, const char *name);

/* The default definition of `name`, or that of `version`.  NULL: ask dlsym(3) or dlvsym(3). */
void *libc_symbols_find(const struct libc_symbols *s, const char *name, const char *version);

#endif
