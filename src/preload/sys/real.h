/* SPDX-License-Identifier: MIT
 *
 * The next definition of each name of the surface, after ours in the search order: in
 * libc, or in another preloaded library.
 */
#ifndef UNSTALL_REAL_H
#define UNSTALL_REAL_H

#include "base.h"
#include "names.h"

#define ROW(name, need, family, role)         extern INTERNAL void *real_##name;
#define VERSION(older, name, version, newest) extern INTERNAL void *real_##older;
#include "surface.def"
#undef ROW
#undef VERSION

/* The needs of surface.def. */
enum need { NEED_required, NEED_optional, NEED_numbered, NEED_thrd, NEED_wide, NEED_own };

/* Looks up the names that cannot wait for their first call.  False when a required one is missing. */
bool real_resolve(void);

/* At the first call of a name. */
void *real_find(void **slot, const char *name);

/* The next `name`, with its own type. */
#define REAL(name)                                                                           \
    __extension__({                                                                          \
        void *next_ = LOAD(&real_##name);                                                    \
        (__typeof__(&name))(LIKELY(next_ != NULL) ? next_ : real_find(&real_##name, #name)); \
    })

/* The same for the shortest paths: NULL if it has not been looked up yet.  Once the gate is open, write,
 * send, read and recv have been. */
#define REAL_FOUND(name) ((__typeof__(&name))LOAD(&real_##name))

/* ---- names that this libc lacks ----------------------------------------- */

/* What a call of `name`, whose next definition belongs in `slot`, then does (surface.def). */
void *absent(void **slot, const char *name);

/* That of a required name, and of one that fails as an absent system call does. */
long absent_call(void);

#endif
