/* SPDX-License-Identifier: MIT
 *
 * A preload that makes one arm slower by a known time: in the mode named by
 * DELAY_MODE every second send of the program waits DELAY_US first.  It stands before
 * libunstall.so, between header and body.  It sleeps: a busy wait is as long as the
 * scheduler makes it where other programs want the processor.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

static long delay_ns;
static ssize_t (*real_send)(int, const void *, size_t, int);

__attribute__((constructor)) static void begin(void) {
    const char *mode = getenv("UNSTALL_MODE"), *which = getenv("DELAY_MODE"), *us = getenv("DELAY_US");
    real_send = (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    if (mode && which && us && strcmp(mode, which) == 0)
        delay_ns = atol(us) * 1000;
    prctl(PR_SET_TIMERSLACK, 1); /* else 50 us more */
}

ssize_t send(int fd, const void *data, size_t length, int flags) {
    static _Thread_local unsigned count;
    if (delay_ns && count++ % 2 == 1)
        nanosleep(&(struct timespec){delay_ns / 1000000000, delay_ns % 1000000000}, NULL);
    return real_send(fd, data, length, flags);
}
