/* SPDX-License-Identifier: MIT
 *
 * Exchanges under the mode it was started in, then writes into the control block
 * of its own segment as a tool would do (mode argv[6], by number), and makes
 * marked exchanges.  Another connection lies idle from then on.
 *
 * stats_control ADDRESS PORT COUNT PROTOCOL DIRECTORY MODE [killed]
 */
#include "client.h"

#include "../../../src/stats_file/control.c"
#include "../../../src/stats_file/control_write.c"

#include <dirent.h>

static void set_mode(const char *directory, uint32_t mode, bool killed) {
    char path[4096] = "";
    DIR *dir = opendir(directory);
    CHECK(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strstr(entry->d_name, STATS_SUFFIX))
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    closedir(dir);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    struct stats_file *s = mmap(NULL, STATS_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(s != MAP_FAILED);
    struct stats_control c;
    CHECK(stats_control_read(&s->control, &c) == 0);
    c.mode = mode;
    c.killed = killed;
    CHECK(stats_control_write(fd, &c) > 0);
    munmap(s, STATS_BYTES);
    close(fd);
}

int main(int argc, char **argv) {
    CHECK(argc >= 7);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), idle = connect_to(client);
    for (int i = 0; i < 6; i++) {
        next_message(i);
        two_writes(fd);
        two_writes(idle);
    }
    ADD_FACT("\"idle_before\": %d", raw_option(idle, IPPROTO_TCP, TCP_NODELAY));
    set_mode(argv[5], (uint32_t)atoi(argv[6]), argc > 7);
    exchange_all(fd, 6, 2);
    run_exchanges_from(8, fd, client.count, two_writes);
    ADD_FACT("\"nodelay\": %d", raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
    ADD_FACT("\"idle_nodelay\": %d", raw_option(idle, IPPROTO_TCP, TCP_NODELAY));
    close(idle);
    close(fd);
    return report();
}
