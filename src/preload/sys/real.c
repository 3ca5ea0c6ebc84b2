/* SPDX-License-Identifier: MIT
 *
 * dlsym(RTLD_NEXT) reads the address of its caller.  It must never be the last call of a
 * function: the compiler may turn that into a tail jump, and the caller is then another one.
 */
#include "real.h"

#include <dlfcn.h>

#include "absent.h"
#include "libc_symbols.h"

#define ROW(name, need, family, role)         void *real_##name;
#define VERSION(older, name, version, newest) void *real_##older;
#include "surface.def"
#undef ROW
#undef VERSION

/* musl has no symbol versions and lacks dlvsym. */
extern __typeof__(dlvsym) dlvsym __attribute__((weak));

static struct libc_symbols libc;

static bool same_library(const void *a, const void *b) {
    Dl_info of_a, of_b;
    return dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

/* The next definition that the dynamic linker would choose for `version`.  A definition of another
 * preloaded library, before libc and without a version, serves all versions. */
static void *next_of_version(const char *name, const char *version, const char *newest) {
    void *found = dlsym(RTLD_NEXT, name);
    void *exact = dlvsym ? dlvsym(RTLD_NEXT, name, version) : NULL;
    if (!exact || exact == found)
        return found;
    if (dlvsym(RTLD_NEXT, name, newest) == found || same_library(exact, found))
        return exact;
    return found;
}

/* Unused on a processor without VERSION rows. */
__attribute__((unused)) static void *find_version(const char *name, const char *version, const char *newest) {
    void *found = libc_symbols_find(&libc, name, version);
    return found ? found : next_of_version(name, version, newest);
}

/* The rows are written out: tables with pointers would be 520 relocations at each start. */
void *real_find(void **slot, const char *name) {
    void *found = NULL;
#define ROW(row, need, family, role)
#define VERSION(older, row, version, newest)           \
    if (slot == &real_##older)                         \
        found = find_version(#row, version, newest);   \
    else if (slot == &real_##row)                      \
        found = find_version(#row, newest, newest);
#include "surface.def"
#undef ROW
#undef VERSION
    if (!found)
        found = libc_symbols_find(&libc, name, NULL);
    if (!found)
        found = dlsym(RTLD_NEXT, name);
    if (!found)
        found = absent(slot, name);
    STORE(slot, found);
    return found;
}

/* False: libc lacks a required name. */
static bool resolve(void **slot, const char *name, enum need need) {
    void *found = LOAD(slot);
    if (!found)
        found = real_find(slot, name);
    return need != NEED_required || found != (void *)(uintptr_t)absent_call;
}

static bool found(void **slot, const char *name) {
    return resolve(slot, name, NEED_required);
}

/* Every name, by dlsym. */
static bool resolve_all(void) {
    bool complete = true;
#define ROW(name, need, family, role)         complete &= resolve(&real_##name, #name, NEED_##need);
#define VERSION(older, name, version, newest) resolve(&real_##older, #name, NEED_optional);
#include "surface.def"
#undef ROW
#undef VERSION
    return complete;
}

/* Resolves, by dlsym, the names that another library defines too. */
static void resolve_elsewhere(void) {
#define ROW(name, need, family, role)           \
    if (libc_symbols_elsewhere(&libc, #name))   \
        resolve(&real_##name, #name, NEED_optional);
#define VERSION(older, name, version, newest)   \
    if (libc_symbols_elsewhere(&libc, #name))   \
        resolve(&real_##older, #name, NEED_optional);
#include "surface.def"
#undef ROW
#undef VERSION
}

bool real_resolve(void) {
    libc_symbols_open(&libc);
    if (libc.count == 0)
        return resolve_all();
    if (libc.count > 1)
        resolve_elsewhere();
    /* jump.S needs the first; REAL_FOUND() the next four; the others stand in for calls of other names. */
    return found(&real_syscall, "syscall") && found(&real_write, "write") &&
           found(&real_send, "send") && found(&real_read, "read") &&
           found(&real_recv, "recv") && found(&real_sendto, "sendto") &&
           found(&real_sendmsg, "sendmsg");
}
