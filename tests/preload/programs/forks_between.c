/* SPDX-License-Identifier: MIT
 *
 * argv[5] forks, each in an exchange whose first write may be held, and then exchanges as ever.  The facts
 * are the most tasks of this process before a fork and just after it, as /proc/self/stat counts them: Python
 * 3.12 warns in os.fork() if there are two.
 */
#include "client.h"

static int tasks(void)
{
    char text[1024];
    long fd = raw_call(SYS_openat, AT_FDCWD, (long)"/proc/self/stat", O_RDONLY, 0, 0);
    long length = raw_call(SYS_read, fd, (long)text, sizeof text - 1, 0, 0);
    CHECK(length > 0 && raw_call(SYS_close, fd, 0, 0, 0, 0) == 0);
    text[length] = '\0';
    char *field = strrchr(text, ')'); /* the name, field 2 */
    for (int number = 2; number < 20; number++) field = strchr(field + 1, ' ');
    return atoi(field + 1);
}

static int before, after;

static void more(int *most, int count)
{
    if (count > *most) *most = count;
}

static void forks_within(int fd)
{
    int status;
    CHECK(write(fd, message, HEADER) == HEADER);
    more(&before, tasks());
    pid_t child = fork();
    if (child == 0) _exit(0);
    more(&after, tasks());
    CHECK(child > 0 && raw_call(SYS_wait4, child, (long)&status, 0, 0, 0) == child);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), forks = atoi(argv[5]);
    next_message(0);
    for (int i = 0; i < WARM; i++) two_writes(fd);
    for (int i = 0; i < forks; i++) forks_within(fd);
    run_exchanges(fd, client.count, two_writes);
    ADD_FACT("\"before\": %d, \"after\": %d", before, after);
    return report();
}
