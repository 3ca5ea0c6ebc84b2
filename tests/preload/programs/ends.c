/* SPDX-License-Identifier: MIT
 *
 * Three exchanges, then the process ends as argv[5] says, with exit code 7 where it may.
 */
#include "client.h"

static void *leave(void *unused)
{
    (void)unused;
    pthread_exit(NULL);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    const char *how = argc > 5 ? argv[5] : "return";
    int fd = connect_to(client);
    exchange_all(fd, 0, 3);
    /* The last message has no answer yet: held bytes must not be lost. */
    next_message(3);
    write_message(fd);
    printf("the program's own output\n");
    fflush(stdout);
    fprintf(stderr, "the program's own error\n");
    if (strcmp(how, "exit") == 0) exit(7);
    if (strcmp(how, "_exit") == 0) _exit(7);
    if (strcmp(how, "_Exit") == 0) _Exit(7);
    if (strcmp(how, "quick_exit") == 0) quick_exit(7);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "exec") == 0) {
        char *const words[] = {"sh", "-c", "exit 7", NULL}, *const none[] = {NULL};
        execve("/bin/sh", words, none);
    }
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, leave, NULL) == 0);
        pthread_join(thread, NULL);
    }
    return 7;
}
