/* SPDX-License-Identifier: MIT */
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_ns.h"

const char *scan_kind_name(enum scan_kind kind) {
    return kind == SCAN_EXACT ? "exact" : "sampled";
}

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
    *r = (struct scan_result){0};
}

void *scan_source_begin(const char *name, const struct scan_options *o,
                        const struct scan_source **source, char not_exact[SCAN_ERROR],
                        char error[SCAN_ERROR]) {
    bool exact = name && strcmp(name, "exact") == 0;
    not_exact[0] = '\0';
    if (exact || !name) {
        *source = &scan_exact;
        void *state = scan_exact.begin(o, not_exact);
        if (state)
            return state;
        if (exact) {
            snprintf(error, SCAN_ERROR, "--source exact: %.180s; --source sampled needs no privilege",
                     not_exact);
            return NULL;
        }
    }
    *source = &scan_sampled;
    return scan_sampled.begin(o, error);
}
