/* SPDX-License-Identifier: MIT
 *
 * stdio on a socket, header and body flushed apart, after the process has run another program: how
 * (argument 5) is `system`, `fork` or `late`, where the child runs it while the exchanges go on.
 */
#include "client.h"

static FILE *stream;

static void exchange(int fd)
{
    CHECK(fwrite(message, 1, HEADER, stream) == HEADER && fflush(stream) == 0);
    CHECK(fwrite(message + HEADER, 1, BODY, stream) == BODY && fflush(stream) == 0);
    read_reply(fd);
}

static void run_true(const char *how)
{
    if (strcmp(how, "system") == 0) {
        CHECK(system("true") == 0);
        return;
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl("/bin/true", "true", NULL);
        _exit(127);
    }
    CHECK(status_of(child) == 0);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    stream = fdopen(dup(fd), "w");
    CHECK(stream);
    next_message(0);
    exchange(fd);
    run_true(argv[argc - 1]);
    run_exchanges(fd, client.count, exchange);
    return report();
}
