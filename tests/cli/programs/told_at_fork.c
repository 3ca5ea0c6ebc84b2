/* SPDX-License-Identifier: MIT
 *
 * A library to preload: as soon as the process has forked, it gets the signal $SIGNAL.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

pid_t fork(void) {
    pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
    pid_t child = real();
    if (child > 0)
        raise(atoi(getenv("SIGNAL")));
    return child;
}
