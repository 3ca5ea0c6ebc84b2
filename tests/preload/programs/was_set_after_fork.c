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
    int fd = connect_to(client), told[2];
    char byte = 'x';
    exchange_all(fd, 0, client.count);
    CHECK(pipe2(told, O_CLOEXEC) == 0);
    pid_t child = strcmp(argv[5], "fork") == 0 ? fork() : _Fork();
    if (child == 0) {
        raw_call(SYS_read, told[0], (long)&byte, 1, 0, 0);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    set_option(fd, TCP_NODELAY, 1);
    CHECK(raw_call(SYS_write, told[1], (long)&byte, 1, 0, 0) == 1);
    int status = -1;
    CHECK(raw_call(SYS_wait4, child, (long)&status, 0, 0, 0) == child && status == 0);
    ADD_FACT("\"nodelay\": %d, \"kernel\": %d", option_of(fd, TCP_NODELAY),
             raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    run_exchanges(fd, client.count, two_writes);
    close(fd);
    return report();
}
