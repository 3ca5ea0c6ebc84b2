/* SPDX-License-Identifier: MIT
 *
 * One thread has exchanges on a connection of its own while another one makes the first exchange
 * of another connection, at which the library asks and sets options.  The facts: how long that
 * took (`burst_us`), and how many exchanges there were meanwhile (`meanwhile`).
 */
#include "client.h"

static client_t client;
static int count, stop;

static void *exchange_on(void *unused)
{
    int fd = connect_to(client);
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        two_writes(fd);
        __atomic_add_fetch(&count, 1, __ATOMIC_RELEASE);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    client = client_arguments(argc, argv);
    next_message(0);
    int fd = connect_to(client);
    CHECK(pthread_create(&thread, NULL, exchange_on, NULL) == 0);
    while (__atomic_load_n(&count, __ATOMIC_ACQUIRE) < client.count) usleep(1000);
    int before = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    long begin = now_us();
    two_writes(fd);
    ADD_FACT("\"burst_us\": %ld", now_us() - begin);
    ADD_FACT("\"meanwhile\": %d", __atomic_load_n(&count, __ATOMIC_ACQUIRE) - before);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    return report();
}
