/* SPDX-License-Identifier: MIT
 *
 * The main thread ends, by argv[5] (pthread_exit, pthread_cancel), before anything was written;
 * another makes exchanges and ends too: with it the process.
 */
#include "client.h"

static client_t client;
static pthread_t main_thread;
static bool cancels;

static void *work(void *unused)
{
    if (cancels) pthread_cancel(main_thread);
    pthread_join(main_thread, NULL);
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    close(fd);
    report();
    fflush(stdout);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t worker;
    CHECK(argc == 6);
    client = client_arguments(argc, argv);
    cancels = strcmp(argv[5], "pthread_cancel") == 0;
    main_thread = pthread_self();
    CHECK(pthread_create(&worker, NULL, work, NULL) == 0);
    if (!cancels) pthread_exit(NULL);
    for (;;) pause();
}
