/* SPDX-License-Identifier: MIT
 *
 * Only in libunstall-hook.so, for the tests: act as with a libc that lacks a name.
 */
#include <string.h>

#include "real.h"

EXPORT void unstall_hook_lacks(const char *name, bool lacks);

/* Required names stay. */
EXPORT void unstall_hook_lacks(const char *name, bool lacks) {
#define ROW(row, need, family, role)                                                \
    if (NEED_##need != NEED_required && strcmp(name, #row) == 0)                    \
        STORE(&real_##row, lacks ? real_absent(&real_##row, #row) : NULL);
#include "surface.def"
#undef ROW
}
