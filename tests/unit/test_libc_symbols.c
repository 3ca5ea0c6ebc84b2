/* SPDX-License-Identifier: MIT
 *
 * Names of libc by its own symbol table: the same answers as dlsym(RTLD_NEXT) and dlvsym(RTLD_NEXT), or none.
 */
#include <dlfcn.h>

#include "real.h"
#include "unit.h"

static struct libc_symbols libc;

static void open_libc(void) {
    unsetenv("LD_AUDIT");
    libc_symbols_open(&libc);
}

static const struct {
    const char *name, *version;
} names[] = {
#define ROW(name, need, family, role)         {#name, NULL},
#define VERSION(older, name, version, newest) {#name, version}, {#name, newest},
#include "surface.def"
#undef ROW
#undef VERSION
};

static void *next(const char *name, const char *version) {
    void *found = version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
    return found; /* not a tail call: dlsym looks at its caller */
}

Test(libc_symbols, as_dlsym_answers, .init = open_libc) {
    cr_assert(libc.count >= 1, "libc was not found");
    EACH_ROW(row, names) {
        void *expected = next(row->name, row->version);
        bool elsewhere = libc_symbols_elsewhere(&libc, row->name);
        cr_expect(libc_symbols_find(&libc, row->name, row->version) == (elsewhere ? NULL : expected), "%s %s",
                  row->name, row->version ? row->version : "");
        cr_expect(!elsewhere, "%s is in a library of the test's own", row->name);
    }
}

/* ---- all that libc defines ------------------------------------------------- */

static const char *version_of(const struct symbol_table *t, uint32_t symbol) {
    const char *place = t->version_names;
    for (size_t i = 0; i < t->version_count; i++) {
        const ElfW(Verdef) *definition = (const void *)place;
        const ElfW(Verdaux) *name = (const void *)(place + definition->vd_aux);
        if (definition->vd_ndx == (t->versions[symbol] & 0x7fff) && definition->vd_ndx > 1)
            return t->strings + name->vda_name;
        place += definition->vd_next;
    }
    return NULL;
}

/* Functions that are chosen at run time, variables, hidden and local definitions, several of one name: of
 * each there is no answer, or the right one. */
Test(libc_symbols, no_answer_is_wrong, .init = open_libc) {
    const struct symbol_table *t = &libc.libraries[libc.count - 1];
    unsigned plain = 0, of_version = 0, entries = 0;
    for (uint32_t b = 0; b < t->bucket_count; b++)
        for (uint32_t i = t->buckets[b]; i >= t->first_symbol; i++) {
            const char *name = t->strings + t->symbols[i].st_name, *version = version_of(t, i);
            const void *found = libc_symbols_find(&libc, name, NULL);
            cr_expect(!found || found == next(name, NULL), "%s", name);
            plain += found != NULL;
            entries++;
            char other[128]; /* of the same hash */
            snprintf(other, sizeof(other), "%c%c%s", name[0] + 1, name[1] - 33, name[1] ? name + 2 : "");
            cr_expect(strlen(name) < 3 || !libc_symbols_find(&libc, other, NULL), "%s", other);
            found = version ? libc_symbols_find(&libc, name, version) : NULL;
            cr_expect(!found || found == next(name, version), "%s@%s", name, version);
            of_version += found != NULL;
            if (t->chains[i - t->first_symbol] & 1)
                break;
        }
    cr_expect(plain > entries / 2 && of_version > entries / 2, "%u and %u of %u", plain, of_version, entries);
}

Test(libc_symbols, without_answer, .init = open_libc) {
    cr_expect(!libc_symbols_find(&libc, "unstall_no_such_name", NULL));
    cr_expect(!libc_symbols_find(&libc, "write", "GLIBC_9.99"), "a version that libc lacks");
    cr_expect(!libc_symbols_find(&libc, "environ", NULL), "a variable");
}

Test(libc_symbols, a_name_of_another_library, .init = open_libc) {
    cr_expect(libc.count > 1, "no library lies between this program and libc");
    cr_expect(libc_symbols_elsewhere(&libc, "criterion_run_all_tests"));
    cr_expect(!libc_symbols_find(&libc, "criterion_run_all_tests", NULL));
    static struct libc_symbols twice = {.count = 2};
    twice.libraries[0] = twice.libraries[1] = libc.libraries[libc.count - 1];
    cr_expect(libc_symbols_elsewhere(&twice, "write"));
    cr_expect(!libc_symbols_find(&twice, "write", NULL), "a library before libc has it, too");
}

Test(libc_symbols, nothing_is_known) {
    static const struct libc_symbols closed;
    cr_expect(!libc_symbols_find(&closed, "write", NULL), "before libc_symbols_open()");
    cr_expect(!libc_symbols_elsewhere(&closed, "write"));
    setenv("LD_AUDIT", "/nonexistent.so", 1);
    static struct libc_symbols audited;
    libc_symbols_open(&audited);
    cr_expect(audited.count == 0, "an auditing library may answer otherwise");
}
