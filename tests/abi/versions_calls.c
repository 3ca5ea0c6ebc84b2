/* SPDX-License-Identifier: MIT
 *
 * A program that was linked against every name of the surface under each of its versions in libc
 * (V(), which the test generates).  It calls each one in a child of its own, with arguments of zero,
 * having said where the name led.  (A va_list is a structure behind a pointer on some processors, which the
 * library copies; it follows a request of POSIX AIO, as libc does.  Both are zeros.)  What then answers is
 * versions_stand_in.c.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "../harness/raw.h"

typedef long call_t(long, long, long, long, long, long);

#define V(number, name, at, version) \
    extern call_t call_##number;     \
    __asm__(".symver call_" #number ", " #name "@" version);
VERSIONS
#undef V

static const struct {
    const char *what;
    call_t *call;
} calls[] = {
#define V(number, name, at, version) {#name "@" version, call_##number},
    VERSIONS
};

int main(void) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        Dl_info led = {.dli_fname = "nowhere"};
        char line[512];
        dladdr((void *)calls[i].call, &led);
        int length = snprintf(line, sizeof line, "%s %s ", calls[i].what, led.dli_fname);
        raw3(SYS_write, 1, (long)line, length);
        long child = raw_fork();
        if (child == 0) {
            static const long zeros[64];
            long list = strstr(calls[i].what, "vdprintf") ? (long)zeros : 0;
            long request = strncmp(calls[i].what, "aio_", 4) == 0 ? (long)zeros : 0;
            calls[i].call(request, 0, list, list, 0, 0);
            raw3(SYS_write, 1, (long)"nothing\n", 8);
            raw1(SYS_exit_group, 1);
        }
        raw6(SYS_wait4, child, 0, 0, 0, 0, 0);
    }
    raw1(SYS_exit_group, 0);
}
