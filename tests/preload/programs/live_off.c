/* SPDX-License-Identifier: MIT
 *
 * Six exchanges in the mode argv[5], a switch to off in the middle of a
 * message, two exchanges to settle, then marked ones: bare again.
 */
#include "client.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    int (*set_mode)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "unstall_hook_set_mode");
    CHECK(set_mode && set_mode(argv[5]) == 0);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    exchange_all(fd, 0, 6);
    next_message(6);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(set_mode("off") == 0);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    exchange_all(fd, 7, 2);
    run_exchanges_from(9, fd, client.count, two_writes);
    ADD_FACT("\"nodelay\": %d", raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    close(fd);
    return report();
}
