/* SPDX-License-Identifier: MIT
 *
 * COUNT exchanges, so far apart that a thread ends between them, in a program with 8 MB of thread-local
 * storage: by how many kB its memory has grown since the first.
 */
#include "client.h"

enum { APART_MS = 300 };

static _Thread_local volatile char storage[8 << 20];

static long resident_kb(void) {
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &all, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void exchange(int fd) {
    two_writes(fd);
    usleep(APART_MS * 1000);
}

int main(int argc, char **argv) {
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    storage[0] = 1;
    run_exchanges(fd, 1, exchange);
    long before = resident_kb();
    run_exchanges(fd, client.count, exchange);
    ADD_FACT("\"grown_kb\": %ld", resident_kb() - before);
    return report();
}
