/* SPDX-License-Identifier: MIT
 *
 * Another thread reads, and is blocked in recv already when the writes come (tiny_http in Rust is made so).
 * The writer waits for it in a futex: made by an inline system call, which no library sees; with
 * BY_SYSCALL by syscall(2); with BY_CONDITION within pthread_cond_wait.  With ONE_WRITE each message is one
 * write.
 */
#include "client.h"
#include <linux/futex.h>

static _Atomic int replies;

#ifdef BY_CONDITION
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;

static void has_come(void) {
    pthread_mutex_lock(&lock);
    replies++;
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&lock);
}

static void wait_for_more_than(int before) {
    pthread_mutex_lock(&lock);
    while (replies == before) pthread_cond_wait(&arrived, &lock);
    pthread_mutex_unlock(&lock);
}
#else
#ifdef BY_SYSCALL
#define FUTEX(operation, value) syscall(SYS_futex, &replies, operation, value, NULL)
#else
#define FUTEX(operation, value) raw_call(SYS_futex, (long)&replies, operation, value, 0, 0)
#endif

static void has_come(void) {
    replies++;
    FUTEX(FUTEX_WAKE_PRIVATE, 1);
}

static void wait_for_more_than(int before) {
    while (replies == before) FUTEX(FUTEX_WAIT_PRIVATE, before);
}
#endif

static void *read_replies(void *socket) {
    char reply[REPLY];
    size_t got = 0;
    for (;;) {
        ssize_t n = recv(*(int *)socket, reply, sizeof reply - got, 0);
        if (n <= 0) return NULL;
        got = (got + (size_t)n) % sizeof reply;
        if (got == 0) has_come();
    }
}

static void exchange(int fd) {
    int before = replies;
#ifdef ONE_WRITE
    CHECK(write(fd, message, HEADER + BODY) == HEADER + BODY);
#else
    write_message(fd);
#endif
    wait_for_more_than(before);
}

int main(int argc, char **argv) {
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    pthread_t reader;
    CHECK(pthread_create(&reader, NULL, read_replies, &fd) == 0);
    usleep(20000);
    run_exchanges(fd, client.count, exchange);
    shutdown(fd, SHUT_RDWR);
    pthread_join(reader, NULL);
    close(fd);
    return report();
}
