/* SPDX-License-Identifier: MIT
 *
 * Threads exchange without pause, each on a connection of its own, while the
 * main thread switches the mode by unstall_hook_set_mode().
 *
 * live_switch ADDRESS PORT THREADS MILLISECONDS MODE...
 * Prints for each exchange the modes at its begin and end: an exchange that lies
 * within one mode is judged by it.
 */
#include "client.h"
#include <dlfcn.h>
#include <stdatomic.h>

enum { THREADS = 8, EXCHANGES = 20000 };

static atomic_int phase;  /* counts switches; odd while one is under way */
static atomic_bool stop;
static atomic_int within[THREADS]; /* exchanges of each thread in this phase */
static client_t client;

typedef struct {
    int exchanges;
    int phases[EXCHANGES];  /* -1: a switch fell into it */
    long us[EXCHANGES];
} log_t;

static log_t logs[THREADS];

static void *exchange_until_stop(void *argument)
{
    log_t *log = argument;
    char data[HEADER + BODY], reply[REPLY];
    int fd = connect_to(client);
    while (!atomic_load(&stop) && log->exchanges < EXCHANGES) {
        int n = log->exchanges, before = atomic_load(&phase);
        fill(data, sizeof data, (size_t)n * sizeof data);
        long begin = now_us();
        CHECK(write(fd, data, HEADER) == HEADER);
        CHECK(write(fd, data + HEADER, BODY) == BODY);
        CHECK(recv(fd, reply, sizeof reply, MSG_WAITALL) == REPLY);
        log->us[n] = now_us() - begin;
        int after = atomic_load(&phase);
        log->phases[n] = before == after && before % 2 == 0 ? before / 2 : -1;
        log->exchanges++;
        if (log->phases[n] == atomic_load(&phase) / 2) atomic_fetch_add(&within[log - logs], 1);
        usleep(500);
    }
    close(fd);
    return NULL;
}

/* A long phase lasts until each thread has made a few exchanges in it, too. */
static void last(int threads, int pause_ms)
{
    enum { FEW = 3, SHORT_MS = 50, LONGEST_MS = 10000 };
    for (int i = 0; i < threads; i++) atomic_store(&within[i], 0);
    usleep((useconds_t)pause_ms * 1000);
    for (int i = 0, waited = 0; pause_ms > SHORT_MS && i < threads && waited < LONGEST_MS;)
        if (atomic_load(&within[i]) >= FEW) {
            i++;
        } else {
            usleep(1000);
            waited++;
        }
}

int main(int argc, char **argv)
{
    CHECK(argc > 5);
    client = (client_t){argv[1], atoi(argv[2]), 0, 0};
    int threads = atoi(argv[3]), pause_ms = atoi(argv[4]);
    int (*set_mode)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "unstall_hook_set_mode");
    pthread_t ids[THREADS];
    CHECK(threads <= THREADS && set_mode != NULL);
    CHECK(set_mode("nonsense") == -EINVAL);
    CHECK(set_mode(argv[5]) == 0);
    for (int i = 0; i < threads; i++)
        CHECK(pthread_create(&ids[i], NULL, exchange_until_stop, &logs[i]) == 0);
    for (int i = 5; i < argc; i++) {
        last(threads, pause_ms);
        if (i + 1 == argc) break;
        atomic_fetch_add(&phase, 1);
        CHECK(set_mode(argv[i + 1]) == 0);
        atomic_fetch_add(&phase, 1);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < threads; i++) CHECK(pthread_join(ids[i], NULL) == 0);
    printf("{\"loaded\": %s, \"exchanges\": [", library_is_loaded() ? "true" : "false");
    for (int i = 0; i < threads; i++) {
        printf("%s[", i ? ", " : "");
        for (int n = 0; n < logs[i].exchanges; n++)
            printf("%s[%d, %ld]", n ? ", " : "", logs[i].phases[n], logs[i].us[n]);
        printf("]");
    }
    printf("]}\n");
    return 0;
}
