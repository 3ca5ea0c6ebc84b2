/* SPDX-License-Identifier: MIT
 *
 * Exchanges; a fork (argv[5]: fork or _Fork); then the parent sets TCP_NODELAY, and after that its child runs
 * another program.  Then exchanges again.  The facts: TCP_NODELAY as it reads back and as the kernel has it.
 */
#include "client.h"

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), told[2], on = 1, nodelay = -1;
    socklen_t length = sizeof nodelay;
    char byte = 'x';
    for (int i = 0; i < client.count; i++) {
        next_message(i);
        two_writes(fd);
    }
    CHECK(pipe2(told, O_CLOEXEC) == 0);
    pid_t child = strcmp(argv[5], "fork") == 0 ? fork() : _Fork();
    if (child == 0) {
        raw_call(SYS_read, told[0], (long)&byte, 1, 0, 0);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
    CHECK(raw_call(SYS_write, told[1], (long)&byte, 1, 0, 0) == 1);
    int status = -1;
    CHECK(raw_call(SYS_wait4, child, (long)&status, 0, 0, 0) == child && status == 0);
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &length) == 0);
    ADD_FACT("\"nodelay\": %d, \"kernel\": %d", nodelay, raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    run_exchanges(fd, client.count, two_writes);
    close(fd);
    return report();
}
