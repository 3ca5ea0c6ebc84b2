/* SPDX-License-Identifier: MIT
 *
 * The main thread leaves by SYS_exit after exchanges, by libc's syscall() or inline (argv[5]: syscall,
 * inline); another thread makes exchanges, too, and ends later by returning, by pthread_exit or by SYS_exit
 * inline (argv[6]: returns, exits, inline), or stays (stays).
 */
#include "client.h"

static client_t client;
static const char *how;

static bool main_has_left(void)
{
    char line[200] = "", *name;
    FILE *file = fopen("/proc/self/stat", "r");
    CHECK(file && fgets(line, sizeof line, file));
    fclose(file);
    return (name = strrchr(line, ')')) && name[2] == 'Z';
}

static void *work(void *unused)
{
    while (!main_has_left()) usleep(1000);
    int fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    report();
    fflush(stdout);
    if (strcmp(how, "exits") == 0) pthread_exit(NULL);
    if (strcmp(how, "inline") == 0) raw_call(SYS_exit, 5, 0, 0, 0, 0);
    while (strcmp(how, "stays") == 0) pause();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t worker;
    CHECK(argc == 7);
    client = client_arguments(argc, argv);
    how = argv[6];
    CHECK(pthread_create(&worker, NULL, work, NULL) == 0);
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    if (strcmp(argv[5], "syscall") == 0) syscall(SYS_exit, 3);
    raw_call(SYS_exit, 3, 0, 0, 0, 0);
    return 99;
}
