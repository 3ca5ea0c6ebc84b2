/* SPDX-License-Identifier: MIT
 *
 * A preload that starts a thread, which does nothing: the program has threads of its own then.
 */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static void *idle(void *nothing) {
    for (;;)
        pause();
    return nothing;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, idle, NULL);
}
