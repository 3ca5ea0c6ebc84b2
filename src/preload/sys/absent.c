/* SPDX-License-Identifier: MIT
 *
 * Calls of names that this libc lacks.  We export every name of surface.def, so a weak reference or dlsym
 * finds one where without us there is none.  A caller of a newer name has a way for the case that the kernel
 * lacks the call: each name says so in its own manner.
 */
#include "absent.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>

#include "raw.h"
#include "real.h"
#include "text.h"

long absent_call(void) {
    errno = ENOSYS;
    return -1;
}

/* -1 would be no number of an error: Rust's std, which falls back to fork after an ENOSYS of pidfd_spawnp,
 * would start no program. */
static int returns_number(void) {
    return ENOSYS;
}

static int returns_thrd_error(void) {
    return thrd_error;
}

/* -1 would be a signal, after which callers sleep again. */
static int absent_thrd_sleep(void) {
    return -2;
}

#ifdef WITH_TIME64
static int absent___thrd_sleep64(void) {
    return absent_thrd_sleep();
}
#endif

static void absent_thrd_exit(int result) {
    REAL(pthread_exit)((void *)(intptr_t)result);
}

/* Its handlers could not be registered either. */
static void absent_quick_exit(int status) {
    REAL(_exit)(status);
}

static void absent__longjmp(jmp_buf environment, int value) {
    REAL(longjmp)(environment, value);
}

static void absent___longjmp_chk(jmp_buf environment, int value) {
    REAL(longjmp)(environment, value);
}

/* It cannot fail: a caller believes that the descriptors are closed. */
static void absent_closefrom(int first) {
    enum { MOST = 1 << 20 }; /* NR_OPEN */
    if (raw3(SYS_close_range, first, ~0U, 0) == 0)
        return;
    for (int fd = first; fd < MOST; fd++) /* before Linux 5.9 */
        raw1(SYS_close, fd);
}

/* The next definition of the name without its last two letters. */
static void *without_64(const char *name) {
    TEXT(shorter, 32);
    text_add(&shorter, name);
    shorter.at[shorter.used - 2] = '\0';
    void *found = dlsym(RTLD_NEXT, shorter.at);
    return found ? found : (void *)(uintptr_t)absent_call;
}

#define ABSENT_required(row) NULL
#define ABSENT_optional(row) NULL
#define ABSENT_numbered(row) ((void *)(uintptr_t)returns_number)
#define ABSENT_thrd(row)     ((void *)(uintptr_t)returns_thrd_error)
#define ABSENT_wide(row)     without_64(name)
#define ABSENT_own(row)      ((void *)(uintptr_t)absent_##row)

void *absent(void **slot, const char *name) {
#define ROW(row, need, family, role)                         \
    if (NEED_##need > NEED_optional && slot == &real_##row)  \
        return ABSENT_##need(row);
#include "surface.def"
#undef ROW
    return (void *)(uintptr_t)absent_call;
}
