/* SPDX-License-Identifier: MIT
 *
 * Threads are made all the time, and the process forks by argv[5] (fork, _Fork): each child writes
 * header and body and ends.  The fact `status` is 0, or how the first bad child ended.
 */
#include "client.h"

enum { MAKERS = 4 };

/* Each new thread gets a copy of it, made under the lock that the child must not need. */
static __thread volatile char much[1 << 19] = {1};

static volatile bool enough;

static void *nothing(void *unused) {
    much[0] = 2;
    return unused;
}

static void *make_threads(void *unused) {
    pthread_t thread;
    while (!enough)
        if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
    return unused;
}

/* The status of the child, which is killed if it takes longer than any machine does. */
static int end_of(pid_t child) {
    static const struct timespec moment = {.tv_nsec = 200000};
    int status = 0;
    long begin = now_us();
    while (raw_call(SYS_wait4, child, (long)&status, WNOHANG, 0, 0) != child) {
        if (now_us() - begin > 20000000) raw_call(SYS_kill, child, SIGKILL, 0, 0, 0);
        raw_call(SYS_nanosleep, (long)&moment, 0, 0, 0, 0);
    }
    return status;
}

int main(int argc, char **argv) {
    bool raw = argc > 5 && strcmp(argv[5], "_Fork") == 0;
    pthread_t makers[MAKERS];
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), status = 0;
    for (int i = 0; i < MAKERS; i++) CHECK(pthread_create(&makers[i], NULL, make_threads, NULL) == 0);
    for (int i = 0; i < client.count && status == 0; i++) {
        next_message(i);
        pid_t child = raw ? _Fork() : fork();
        CHECK(child >= 0);
        if (child == 0) {
            bool good = write(fd, message, HEADER) == HEADER && write(fd, message + HEADER, BODY) == BODY;
            _exit(good ? 0 : 1);
        }
        status = end_of(child);
    }
    enough = true;
    for (int i = 0; i < MAKERS; i++) pthread_join(makers[i], NULL);
    close(fd);
    ADD_FACT("\"status\": %d", status);
    return report();
}
