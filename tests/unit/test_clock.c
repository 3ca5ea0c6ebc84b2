/* SPDX-License-Identifier: MIT
 *
 * The clock: its source, its precision, and its stop.
 */
#include <dlfcn.h>
#include <time.h>

#include "clock.h"
#include "unit.h"

static int own_clock(clockid_t clock, struct timespec *now) {
    *now = (struct timespec){clock == CLOCK_MONOTONIC ? 7 : 8, 9};
    return 0;
}

static uint64_t library_time(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Another library may replace clock_gettime(2); no library can replace the vDSO. */
Test(clock, is_the_kernels) {
    Dl_info of;
    clock_start();
    ASSERT(dladdr((void *)(uintptr_t)clock_get, &of));
    cr_expect(strstr(of.dli_fname, "vdso"), "%s", of.dli_fname);
    uint64_t before = library_time(CLOCK_MONOTONIC), now = clock_now(), after = library_time(CLOCK_MONOTONIC);
    EXPECT(before <= now && now <= after);
    before = library_time(CLOCK_MONOTONIC_COARSE);
    now = clock_coarse();
    after = library_time(CLOCK_MONOTONIC_COARSE);
    EXPECT(before <= now && now <= after);
}

Test(clock, is_looked_for_once) {
    clock_get = own_clock;
    clock_start();
    EXPECT(clock_get == own_clock);
    EXPECT_INT("now", clock_now(), 7000000009);
    EXPECT_INT("coarse", clock_coarse(), 8000000009);
}

/* prctl(PR_SET_TSC): reading the vDSO would be SIGSEGV, also after a later start. */
Test(clock, leaves_the_vdso) {
    clock_start();
    EXPECT(!clock_is_call());
    uint64_t before = clock_now();
    for (int i = 0; i < 2; i++) {
        clock_leaves_vdso();
        EXPECT(clock_is_call());
        uint64_t now = clock_now(), after = library_time(CLOCK_MONOTONIC);
        EXPECT(before <= now && now <= after);
        clock_start();
        EXPECT(clock_is_call());
    }
}

Test(clock, stops) {
    clock_get = own_clock;
    clock_stopped = 4711;
    EXPECT_INT("now", clock_now(), 4711);
    EXPECT_INT("coarse", clock_coarse(), 4711);
}

/* Two instants of one tick differ by nothing, two close to its edge by all of it. */
Test(clock, how_far_apart_is_surely_apart) {
    struct timespec tick;
    ASSERT(clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && tick.tv_sec == 0 && tick.tv_nsec > 0);
    EXPECT_INT("a moment is a tick", clock_coarse_surely(1), tick.tv_nsec);
    EXPECT_INT("a tick", clock_coarse_surely((uint64_t)tick.tv_nsec), tick.tv_nsec);
    EXPECT_INT("more", clock_coarse_surely((uint64_t)tick.tv_nsec + 1), tick.tv_nsec + 1);
    EXPECT_INT("a moment again", clock_coarse_surely(0), tick.tv_nsec);
}
