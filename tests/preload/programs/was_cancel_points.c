/* SPDX-License-Identifier: MIT
 *
 * Threads that have been told to end (pthread_cancel) make one call each: prints whether they were
 * cancelled in it.  Then an exchange and unshare by the main thread.
 */
#include "client.h"
#include <sched.h>

static int fd;
static int by_syscall(void) { return (int)syscall(SYS_write, fd, message, 0); }
static int by_write(void) { return (int)write(fd, message, HEADER); }
static int by_unshare(void) { return unshare(0); }

static const struct { const char *name; int (*call)(void); } calls[] = {
    {"syscall", by_syscall}, {"write", by_write}, {"unshare", by_unshare}};

static void *cancelled_in(void *call)
{
    pthread_cancel(pthread_self());
    (*(int (**)(void))call)();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int index = 0;
    fd = connect_to(client);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        pthread_t thread;
        void *result;
        exchange_all(fd, index, client.count);
        index += client.count;
        CHECK(pthread_create(&thread, NULL, cancelled_in, (void *)&calls[i].call) == 0);
        CHECK(pthread_join(thread, &result) == 0);
        printf("%s: %s\n", calls[i].name, result == PTHREAD_CANCELED ? "cancelled" : "ran on");
    }
    exchange_all(fd, index, 1);
    CHECK(unshare(0) == 0);
    exchange_all(fd, index + 1, 1);
    close(fd);
    return report();
}
