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
    int fd = connect_to(client), at = 0;
    for (; at < 6; at++) {
        next_message(at);
        two_writes(fd);
    }
    next_message(at++);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(set_mode("off") == 0);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    for (int i = 0; i < 2; i++, at++) {
        next_message(at);
        two_writes(fd);
    }
    for (int i = 0; i < client.count; i++, at++) {
        next_message(at);
        long begin = now_us();
        mark(i);
        two_writes(fd);
        mark(PAUSE);
        facts.us[facts.exchanges++] = now_us() - begin;
    }
    ADD_FACT("\"nodelay\": %d", raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    close(fd);
    return report();
}
