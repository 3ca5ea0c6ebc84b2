/* SPDX-License-Identifier: MIT
 *
 * Two threads write at the same moment to a connection that was created unseen.  It is closed, another with
 * TCP_NODELAY of the application's own takes its number, and an exec fails.  The fact `undone`: how many
 * times that connection had lost its TCP_NODELAY.
 */
#include "client.h"

static int fd;
static pthread_barrier_t both;

static void *writes(void *unused)
{
    pthread_barrier_wait(&both);
    for (int i = 0; i < 6; i++) CHECK(write(fd, message, 1) == 1);
    return unused;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    char *const words[] = {"nothing", NULL};
    int undone = 0;
    CHECK(pthread_barrier_init(&both, NULL, 2) == 0);
    for (int i = 0; i < client.count; i++) {
        pthread_t threads[2];
        fd = connect_unseen(client);
        for (int n = 0; n < 2; n++) CHECK(pthread_create(&threads[n], NULL, writes, NULL) == 0);
        for (int n = 0; n < 2; n++) pthread_join(threads[n], NULL);
        CHECK(close(fd) == 0);
        int next = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(next == fd);
        set_option(next, TCP_NODELAY, 1);
        execv("/does/not/exist", words);
        undone += raw_option(next, IPPROTO_TCP, TCP_NODELAY) != 1;
        close(next);
    }
    ADD_FACT("\"undone\": %d", undone);
    return report();
}
