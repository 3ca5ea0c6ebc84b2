/* SPDX-License-Identifier: MIT
 *
 * dlsym(RTLD_NEXT) looks at the address of its caller: it must never be the last
 * call of a function, where a tail jump would make that somebody else's.
 */
#include "real.h"

#include <dlfcn.h>
#include <errno.h>

#define ROW(name, need, family, role) void *real_##name;
#include "surface.def"
#undef ROW

/* An optional name that this libc lacks. */
static long missing(void) {
    errno = ENOSYS;
    return -1;
}

void *real_find(void **slot, const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        found = (void *)(uintptr_t)missing;
    STORE(slot, found);
    return found;
}

enum { optional, required, elsewhere };

static const struct {
    void **slot;
    const char *name;
    int need;
} table[] = {
#define ROW(name, need, family, role) {&real_##name, #name, need},
#include "surface.def"
#undef ROW
};

bool real_resolve(void) {
    bool complete = true;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (table[i].need == elsewhere)
            continue; /* a name that dlsym does not find costs a malloc, for dlerror */
        void *found = LOAD(table[i].slot);
        if (!found)
            found = real_find(table[i].slot, table[i].name);
        if (table[i].need == required && found == (void *)(uintptr_t)missing)
            complete = false;
    }
    return complete;
}
