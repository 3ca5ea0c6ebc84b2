/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock_ns.h"

enum { STEPS_A_LOOK = 16384 };

static struct {
    FILE *in;
    const char *name;
    off_t size; /* 0: a pipe */
    time_t shown_at;
    bool wanted, shown;
} progress;

void progress_begin(FILE *in, const char *name) {
    struct stat about;
    memset(&progress, 0, sizeof(progress));
    progress.in = in;
    progress.name = name;
    progress.wanted = isatty(STDERR_FILENO);
    progress.shown_at = (time_t)(clock_ns(CLOCK_MONOTONIC) / 1000000000);
    if (progress.wanted && fileno(in) >= 0 && fstat(fileno(in), &about) == 0 &&
        S_ISREG(about.st_mode))
        progress.size = about.st_size;
}

void progress_step(uint64_t entries) {
    if (!progress.wanted || entries % STEPS_A_LOOK != 0 ||
        (time_t)(clock_ns(CLOCK_MONOTONIC) / 1000000000) <= progress.shown_at)
        return;
    progress.shown_at = (time_t)(clock_ns(CLOCK_MONOTONIC) / 1000000000);
    progress.shown = true;
    if (progress.size > 0)
        fprintf(stderr, "\r%s: %d %%\033[K", progress.name,
                (int)(100 * (double)ftello(progress.in) / (double)progress.size));
    else
        fprintf(stderr, "\r%s: %lu read\033[K", progress.name, (unsigned long)entries);
}

void progress_end(void) {
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.shown = false;
}
