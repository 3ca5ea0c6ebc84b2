/* SPDX-License-Identifier: MIT
 *
 * Memory ends, then the connection gets a number far above the others: the table of descriptors cannot grow.
 * Header and body go through the one number and the other in turn; their order is the application's.
 */
#include "client.h"

enum { HIGH = 3000 };

static void no_more_memory(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE);
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) == 0);
    CHECK(mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

static int high;

static void exchange(int fd) {
    static int turn;
    int first = turn & 1 ? fd : high, second = turn & 2 ? fd : high;
    turn++;
    CHECK(write(first, message, HEADER) == HEADER);
    CHECK(write(second, message + HEADER, BODY) == BODY);
    read_reply(second);
}

int main(int argc, char **argv) {
    client_t client = client_arguments(argc, argv);
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    bool after_use = argc > 5;
    int fd = connect_to(client);
    high = fd;
    if (after_use) run_exchanges(fd, 4, exchange);
    no_more_memory();
    high = dup2(fd, HIGH);
    CHECK(high == HIGH);
    for (int i = after_use ? 4 : 0; i < client.count; i++) {
        next_message(i);
        exchange(fd);
    }
    close(fd);
    close(high);
    int another = connect_to(client);
    CHECK(dup2(another, HIGH) == HIGH && close(another) == 0 && close(HIGH) == 0);
    return 0;
}
