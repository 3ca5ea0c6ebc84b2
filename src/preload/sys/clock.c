/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include "raw.h"

uint64_t clock_stopped;

/* For systems without a vDSO.  A call costs 0.2 µs. */
static int by_system_call(clockid_t clock, struct timespec *now) {
    return (int)raw2(SYS_clock_gettime, clock, now);
}

int (*clock_get)(clockid_t clock, struct timespec *now) = by_system_call;

static bool no_vdso;

bool clock_is_call(void) {
    return LOAD(&clock_get) == by_system_call;
}

void clock_avoid_vdso(void) {
    STORE(&no_vdso, true);
    STORE(&clock_get, by_system_call);
}

void clock_start(void) {
    void *found = NULL;
    if (!clock_is_call() || LOAD(&no_vdso))
        return;
#ifdef __GLIBC__ /* glibc lists the vDSO among the loaded libraries: dlopen() opens no file */
    void *vdso = getauxval(AT_SYSINFO_EHDR) ? dlopen(MACHINE_VDSO, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (vdso)
        found = dlsym(vdso, MACHINE_VDSO_CLOCK);
#else
    found = (void *)(uintptr_t)clock_gettime;
#endif
    if (found)
        STORE(&clock_get, (int (*)(clockid_t, struct timespec *))(uintptr_t)found);
}

uint64_t clock_coarse_surely(uint64_t ns) {
    static uint64_t tick;
    if (!LOAD(&tick)) {
        struct timespec t = {0};
        clock_getres(CLOCK_MONOTONIC_COARSE, &t);
        STORE(&tick, (uint64_t)t.tv_nsec + !t.tv_nsec);
    }
    return ns > tick ? ns : tick;
}
