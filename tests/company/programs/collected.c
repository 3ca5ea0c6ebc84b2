/* SPDX-License-Identifier: MIT
 *
 * Two threads of a program with libgc log to one connection and allocate.  libgc stops all threads by a
 * signal at each collection, wherever they are: inside the library, too.  The other one then wrote, forked or
 * ended, and waited for ever for the lock of the stopped one, in every mode.
 *
 *   collected ADDRESS PORT ROUNDS
 */
#define GC_THREADS
#include <gc.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int log_to, rounds;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void say(const char *what, size_t bytes) {
    if (write(log_to, what, bytes) != (ssize_t)bytes) fail("write");
}

/* A line is two small writes of one thread. */
static void *logs(void *lock) {
    void *kept[64] = {0};
    for (int i = 0; i < rounds; i++) {
        char *line = GC_MALLOC(64);
        memset(line, '.', 60);
        kept[i % 64] = GC_MALLOC(20000); /* so that there are collections */
        pthread_mutex_lock(lock);
        say(line, 40);
        say("\n", 1);
        pthread_mutex_unlock(lock);
    }
    return kept[0];
}

int main(int count, char **words) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct sockaddr_in to = {.sin_family = AF_INET};
    pthread_t thread;
    if (count != 4) return 2;
    GC_INIT();
    rounds = atoi(words[3]);
    to.sin_port = htons((unsigned short)atoi(words[2]));
    inet_pton(AF_INET, words[1], &to.sin_addr);
    log_to = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(log_to, (struct sockaddr *)&to, sizeof to)) fail("connect");
    if (pthread_create(&thread, NULL, logs, &lock)) fail("pthread_create");
    logs(&lock);
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    pthread_join(thread, NULL);
    printf("%lu collections\n", (unsigned long)GC_get_gc_no());
    return GC_get_gc_no() > 0 ? 0 : 3;
}
