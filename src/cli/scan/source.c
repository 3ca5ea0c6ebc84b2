/* SPDX-License-Identifier: MIT */
#include "source.h"

#include <stdlib.h>
#include <time.h>

#include "clock_ns.h"

uint64_t scan_now(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

void scan_sleep_until(uint64_t due) {
    struct timespec t = {.tv_sec = (time_t)(due / 1000000000), .tv_nsec = (long)(due % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL); /* a signal ends it: run() sees `stop` */
}

uint64_t scan_own_time(void) {
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

double scan_own_share(uint64_t began_ns, uint64_t now_ns) {
    return (double)scan_own_time() / (double)(now_ns - began_ns + 1);
}

void scan_result_free(struct scan_result *r) {
    free(r->connections);
    free(r->listening);
    *r = (struct scan_result){0};
}
