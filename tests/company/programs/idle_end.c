/* SPDX-License-Identifier: MIT
 *
 * Two writes and a read, and then nothing for so long that the window's thread has ended.
 */
#include "client.h"

static void *waits(void *unused) {
    raw_call(SYS_sched_yield, 0, 0, 0, 0, 0);
    return unused;
}

int main(int argc, char **argv) {
    client_t client = client_arguments(argc, argv);
    pthread_t thread; /* with threads a window has one, too */
    CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
    pthread_join(thread, NULL);
    run_exchanges(connect_to(client), client.count, two_writes);
    usleep(400000);
    return report();
}
