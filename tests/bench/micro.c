/* SPDX-License-Identifier: MIT
 *
 * The cost of a call that has nothing to do with TCP, and of a start.
 *
 * Usage: micro                 one JSON object: nanoseconds of each call
 *        micro start COUNT LIB  microseconds from spawn to end of `true`, bare and under LIB,
 *                              by turns
 *
 * Takes the least of many short runs: other work on the machine only adds time.
 */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include "common.h"

enum { RUNS = 300, CALLS = 500 };

static char byte[1];
static int ends[2], file, null;

/* Two calls. */
static void pipe_both(void) {
    if (write(ends[1], byte, 1) != 1 || read(ends[0], byte, 1) != 1)
        die("pipe");
}

static void file_write(void) {
    if (write(file, byte, 0) != 0)
        die("file");
}

static void null_write(void) {
    if (write(null, byte, 1) != 1)
        die("null");
}

static void zero_read(void) {
    if (read(file, byte, 0) != 0)
        die("read");
}

static void poll_nothing(void) {
    poll(NULL, 0, 0);
}

static double least_ns(void (*call)(void)) {
    double least = 1e18;
    for (int run = 0; run < RUNS; run++) {
        double began = now_ns();
        for (int i = 0; i < CALLS; i++)
            call();
        double each = (now_ns() - began) / CALLS;
        least = each < least ? each : least;
    }
    return least;
}

static void calls(void) {
    char name[] = "/tmp/unstall-bench-XXXXXX";
    if (pipe(ends) != 0 || (file = mkstemp(name)) < 0 || unlink(name) != 0 ||
        (null = open("/dev/null", O_WRONLY)) < 0)
        die("micro");
    printf("{\"pipe: write and read\": %.1f, ", least_ns(pipe_both));
    printf("\"file: write\": %.1f, ", least_ns(file_write));
    printf("\"/dev/null: write\": %.1f, ", least_ns(null_write));
    printf("\"file: read\": %.1f, ", least_ns(zero_read));
    printf("\"poll, nothing held\": %.1f}\n", least_ns(poll_nothing));
}

static double start_us(char **environment) {
    static char program[] = "/bin/true";
    char *argv[] = {program, NULL};
    pid_t child;
    double began = now_ns();
    int status;
    if (posix_spawn(&child, argv[0], NULL, NULL, argv, environment) != 0 ||
        waitpid(child, &status, 0) != child)
        die("spawn");
    return (now_ns() - began) / 1000;
}

static void starts(int count, const char *library) {
    static double bare[4096], loaded[4096];
    static char preload[4096], path[] = "PATH=/usr/bin:/bin";
    char *none[] = {path, NULL}, *ours[] = {path, preload, NULL};
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", library);
    for (int i = 0; i < count; i++) {
        bare[i] = start_us(none);
        loaded[i] = start_us(ours);
    }
    printf("{\"bare\": %.1f, \"loaded\": %.1f}\n", median(bare, count), median(loaded, count));
}

int main(int argc, char **argv) {
    if (argc == 4 && atoi(argv[2]) > 0 && atoi(argv[2]) <= 4096)
        starts(atoi(argv[2]), argv[3]);
    else
        calls();
    return 0;
}
