/* SPDX-License-Identifier: MIT
 *
 * dlsym(RTLD_NEXT) reads the address of its caller.  It must never be the last call of a
 * function: the compiler may turn that into a tail jump, and the caller is then another one.
 */
#include "real.h"

#include <dlfcn.h>

#include "raw.h"
#include "log.h"

#define ROW(name, need, family, role)         void *real_##name;
#define VERSION(older, name, version, newest) void *real_##older;
#include "surface.def"

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

/* ---- names that this libc lacks -----------------------------------------
 *
 * Calls of names that this libc lacks.  We export every name of surface.def, so a weak reference or dlsym
 * finds one where without us there is none.  A caller of a newer name has a way for the case that the kernel
 * lacks the call: each name says so in its own manner.
 */

/* That of a required name, and of one that fails as an absent system call does. */
static long absent_call(void) {
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
#define absent___thrd_sleep64 absent_thrd_sleep
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
#define absent___longjmp_chk absent__longjmp

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

void *real_absent(void **slot, const char *name) {
#define ROW(row, need, family, role)                         \
    if (NEED_##need > NEED_optional && slot == &real_##row)  \
        return ABSENT_##need(row);
#include "surface.def"
    return (void *)(uintptr_t)absent_call;
}

/* ---- finding them ------------------------------------------------------------ */

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
    if (!found)
        found = libc_symbols_find(&libc, name, NULL);
    if (!found)
        found = dlsym(RTLD_NEXT, name);
    if (!found)
        found = real_absent(slot, name);
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

/* Resolves by dlsym every name, or those that a library between us and libc defines, too. */
static bool resolve_by_dlsym(void) {
    bool every = libc.count == 0, complete = true;
#define ROW(name, need, family, role)                  \
    if (every || libc_symbols_elsewhere(&libc, #name)) \
        complete &= resolve(&real_##name, #name, NEED_##need);
#define VERSION(older, name, version, newest)          \
    if (every || libc_symbols_elsewhere(&libc, #name)) \
        resolve(&real_##older, #name, NEED_optional);
#include "surface.def"
    return complete;
}

bool real_resolve(void) {
    libc_symbols_open(&libc);
    if (libc.count != 1 && !resolve_by_dlsym())
        return false;
    /* jump.S needs the first; the next four are called without a look-up; the others stand in for calls of
     * other names. */
    return found(&real_syscall, "syscall") && found(&real_write, "write") &&
           found(&real_send, "send") && found(&real_read, "read") && found(&real_recv, "recv") &&
           found(&real_sendto, "sendto") && found(&real_sendmsg, "sendmsg");
}
