/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "args.h"
#include "errors.h"
#include "terminal.h"
#include "top_frame.h"

static void wait_for(double seconds) {
    struct timespec t = {.tv_sec = (time_t)seconds,
                         .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

/* One frame on stdout, for pipes. */
static int once(struct top *t, double interval) {
    char text[TOP_LINE];
    struct top_layout layout;
    int failed = top_look(t);
    if (!failed)
        failed = stats_files_may_come(&t->looks[t->now], t->watched);
    if (!failed) {
        wait_for(interval);
        failed = top_look(t);
    }
    if (!failed) {
        top_lay_out(&layout, t, (unsigned)terminal_width(stdout), !speaks_utf8());
        top_summary(t, &layout, text);
        puts(text);
        top_heading(&layout, text);
        puts(text);
        for (size_t i = 0; i < t->count; i++) {
            top_text(t, i, &layout, text);
            puts(text);
        }
    }
    top_end(t);
    return failed ? failed : finish_output();
}

/* The folder if nothing is given, or NULL. */
static const char *usual_folder(void) {
    const char *set = getenv("UNSTALL_STATS");
    struct stat st;
    if (set && set[0])
        return set;
    return stat(STATS_USUAL_FOLDER, &st) == 0 && S_ISDIR(st.st_mode) ? STATS_USUAL_FOLDER : NULL;
}

static int run(int argc, char **argv) {
    struct top t = {.watched = NULL};
    const char *value = NULL;
    double interval = 1;
    bool one = false;
    const struct args_option options[] = {{"--once", &one, NULL}, {"--interval", NULL, &value}, {0}};
    if (!args_all(&verb_top, argc, argv, options, "PID, DIR or SERVICE", &t.watched) ||
        (value && !seconds_of("--interval", value, 3600, &interval)))
        return EXIT_OWN;
    if (!t.watched && !(t.watched = usual_folder())) { /* no statistics: the whole host, from the kernel */
        static char scan[] = "scan", option[] = "--watch", once_for[] = "--time=1";
        verb_now = &verb_scan;
        return verb_scan.run(2, (char *[]){scan, one ? once_for : option, NULL});
    }
    return one ? once(&t, interval) : top_screen(&t, interval);
}

const struct verb verb_top = {
    .name = "top",
    .summary = "Show live what programs with statistics do, by endpoint",
    .usage = "[--once] [--interval SECONDS] [PID|DIR|SERVICE]",
    .help = "  --once              one frame to stdout, without keys and colours\n"
            "  --interval SECONDS  time between looks (1)\n"
            "\n"
            "PID is a process with statistics, DIR the folder that UNSTALL_STATS named, and\n"
            "SERVICE one that was enabled with --stats. Without one: $UNSTALL_STATS, or\n"
            "/dev/shm/unstall, or else the whole host, as scan --watch. Keys: q quits, m\n"
            "chooses another mode for the selected process, ? tells the others.\n",
    .run = run,
};
