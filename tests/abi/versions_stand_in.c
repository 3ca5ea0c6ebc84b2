/* SPDX-License-Identifier: MIT
 *
 * Stands behind the library, in libc's place: every name of the surface under each of its versions
 * in libc (V(), which the test generates); with PLAIN without a version, as in most preloaded libraries.
 * Whichever is called says its own name and ends the process.
 */
#include <string.h>
#include <sys/syscall.h>

#include "../harness/raw.h"

__attribute__((noreturn)) static void reached(const char *which) {
    raw3(SYS_write, 1, (long)which, (long)strlen(which));
    raw1(SYS_exit_group, 0);
    __builtin_unreachable();
}

#ifdef PLAIN
#define V(number, name, at, version) \
    void name(void);                 \
    void name(void) {                \
        reached(#name "\n");         \
    }
#else
#define V(number, name, at, version)                                           \
    void stand_in_##number(void);                                              \
    void stand_in_##number(void) {                                             \
        reached(#name "@" version "\n");                                       \
    }                                                                          \
    __asm__(".symver stand_in_" #number ", " #name at version ", remove");
#endif
VERSIONS
