/* SPDX-License-Identifier: MIT
 *
 * Only in libunstall-hook.so, for the tests: switch the mode of a live process the way the control block of
 * the statistics file does; act as with a libc that lacks a name.
 */
#include <errno.h>
#include <string.h>

#include "real.h"
#include "config.h"
#include "turn.h"

EXPORT int unstall_hook_set_mode(const char *name);

/* 0, or -EINVAL for a name that is no mode. */
EXPORT int unstall_hook_set_mode(const char *name) {
    for (int i = 0; i < MODES; i++)
        if (strcmp(name, mode_names[i]) == 0) {
            config_switch((enum mode)i, config()->no_syscalls);
            sweep(PUSH_MODE);
            return 0;
        }
    return -EINVAL;
}

EXPORT void unstall_hook_lacks(const char *name, bool lacks);

/* Required names stay. */
EXPORT void unstall_hook_lacks(const char *name, bool lacks) {
#define ROW(row, need, family, role)                                                \
    if (NEED_##need != NEED_required && strcmp(name, #row) == 0)                    \
        STORE(&real_##row, lacks ? absent(&real_##row, #row) : NULL);
#include "surface.def"
#undef ROW
}
