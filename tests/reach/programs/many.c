/* SPDX-License-Identifier: MIT
 *
 * Many sockets, threads or processes at once, each with a connection to a listener of its own program.
 *
 * sockets N     N connections, all open at the end
 * threads N     N threads of 50 connections each, while a timer's signal interrupts them
 * forks N       N children of one connection each
 * It prints how many of the connections had TCP_NODELAY at both ends.
 */
#include "../../preload/programs/client.h"
#include <sys/time.h>

static int listener;
static struct sockaddr_in place;
static int good;

static void prepare(void) {
    socklen_t size = sizeof place;
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&place, sizeof place) == 0);
    CHECK(listen(listener, 1024) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&place, &size) == 0);
}

static void once(bool keep) {
    int client = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(client >= 0);
    CHECK(connect(client, (struct sockaddr *)&place, sizeof place) == 0);
    int server;
    do
        server = accept(listener, NULL, NULL);
    while (server < 0 && errno == EINTR);
    CHECK(server >= 0);
    bool both = raw_option(client, IPPROTO_TCP, TCP_NODELAY) == 1 &&
                raw_option(server, IPPROTO_TCP, TCP_NODELAY) == 1;
    __atomic_add_fetch(&good, both, __ATOMIC_RELAXED);
    if (keep) return;
    close(client);
    close(server);
}

static void nothing(int number) {
    (void)number;
}

static void *thread(void *unused) {
    for (int i = 0; i < 50; i++) once(false);
    return unused;
}

static void threads(int count) {
    pthread_t all[64];
    struct itimerval often = {{0, 500}, {0, 500}};
    struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    CHECK(count <= 64 && sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < count; i++) CHECK(pthread_create(&all[i], NULL, thread, NULL) == 0);
    for (int i = 0; i < count; i++) CHECK(pthread_join(all[i], NULL) == 0);
}

static void forks(int count) {
    for (int i = 0; i < count; i++) {
        int status;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            good = 0;
            once(false);
            _exit(good ? 0 : 1);
        }
        CHECK(waitpid(child, &status, 0) == child);
        good += status == 0;
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    int count = atoi(argv[2]);
    struct rlimit most;
    CHECK(getrlimit(RLIMIT_NOFILE, &most) == 0);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
    prepare();
    if (strcmp(argv[1], "threads") == 0) threads(count);
    else if (strcmp(argv[1], "forks") == 0) forks(count);
    else
        for (int i = 0; i < count; i++) once(true);
    printf("%d\n", good);
    return 0;
}
