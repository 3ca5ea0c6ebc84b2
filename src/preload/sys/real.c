/* SPDX-License-Identifier: MIT
 *
 * dlsym(RTLD_NEXT) reads the address of its caller.  It must never be the last call of a
 * function: the compiler may turn that into a tail jump, and the caller is then another one.
 */
#include "real.h"

#include <dlfcn.h>
#include <errno.h>

#define ROW(name, need, family, role)         void *real_##name;
#define VERSION(older, name, version, newest) void *real_##older;
#include "surface.def"
#undef ROW
#undef VERSION

/* musl has no symbol versions and lacks dlvsym. */
extern __typeof__(dlvsym) dlvsym __attribute__((weak));

/* Stands for an optional name that this libc lacks. */
static long missing(void) {
    errno = ENOSYS;
    return -1;
}

enum { optional, required };

static const struct {
    void **slot;
    const char *name;
    int need;
} table[] = {
#define ROW(name, need, family, role) {&real_##name, #name, need},
#include "surface.def"
#undef ROW
};

/* Names with more than one definition in libc. */
static const struct {
    void **slot;
    const char *name, *version, *newest;
} versions[] = {
#define ROW(name, need, family, role)
#define VERSION(older, name, version, newest) \
    {&real_##older, #name, version, newest},  \
    {&real_##name, #name, newest, newest},
#include "surface.def"
#undef ROW
#undef VERSION
};

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

void *real_find(void **slot, const char *name) {
    void *found = NULL;
    for (size_t i = 0; i != ARRAY_SIZE(versions); i++)
        if (versions[i].slot == slot)
            found = next_of_version(versions[i].name, versions[i].version, versions[i].newest);
    if (!found)
        found = dlsym(RTLD_NEXT, name);
    if (!found)
        found = (void *)(uintptr_t)missing;
    STORE(slot, found);
    return found;
}

bool real_resolve(void) {
    bool complete = true;
    for (size_t i = 0; i != ARRAY_SIZE(versions); i++)
        if (!LOAD(versions[i].slot))
            real_find(versions[i].slot, versions[i].name);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        void *found = LOAD(table[i].slot);
        if (!found)
            found = real_find(table[i].slot, table[i].name);
        if (table[i].need == required && found == (void *)(uintptr_t)missing)
            complete = false;
    }
    return complete;
}
