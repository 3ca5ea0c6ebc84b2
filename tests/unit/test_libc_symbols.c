/* SPDX-License-Identifier: MIT
 *
 * Names of libc by its own symbol table: the same answers as dlsym(RTLD_NEXT) and dlvsym(RTLD_NEXT).
 */
#include <dlfcn.h>
#include <stdlib.h>

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

Test(libc_symbols, without_answer, .init = open_libc) {
    cr_expect(!libc_symbols_find(&libc, "unstall_no_such_name", NULL));
    cr_expect(!libc_symbols_find(&libc, "write", "GLIBC_9.99"), "a version that libc lacks");
    cr_expect(!libc_symbols_find(&libc, "environ", NULL), "a variable");
}

Test(libc_symbols, a_name_of_another_library, .init = open_libc) {
    cr_expect(libc.count > 1, "no library lies between this program and libc");
    cr_expect(libc_symbols_elsewhere(&libc, "criterion_run_all_tests"));
    cr_expect(!libc_symbols_find(&libc, "criterion_run_all_tests", NULL));
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
