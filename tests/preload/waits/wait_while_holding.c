/* SPDX-License-Identifier: MIT
 *
 * One held write, then one act: wait_while_holding PORT ACT [BURSTS [polling | beside]]
 *
 * Connects to 127.0.0.1:PORT (with `accept` or `accept4` for PORT: listens, prints
 * the port, and takes the connection that comes, by that name), exchanges a greeting (it carries our process
 * id), makes BURSTS exchanges of two small writes each (so that `auto` comes to know the connection;
 * `polling`: with a poll between the two that returns at once), then writes 16 bytes, the time and "held
 * bytes" in short, and performs the act while they are held. The peer tells from the time in the bytes how
 * long they were held. `beside`: another thread makes the exchanges and the write, and waits out of sight
 * while this one acts; and a child that no library sees has the connection, too, so that no end closes it.
 *
 *   wait_while_holding list        the acts
 *   wait_while_holding where NAME…  the file that answers for each name
 *
 * At the end it prints the act's result and how long it took, in milliseconds.
 */
#include "acts.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>

extern const struct act *const __start_acts[];
extern const struct act *const __stop_acts[];

static const struct act *find(const char *name) {
    for (const struct act *const *each = __start_acts; each < __stop_acts; each++)
        if (strcmp((*each)->name, name) == 0)
            return *each;
    return NULL;
}

static int list(void) {
    for (const struct act *const *each = __start_acts; each < __stop_acts; each++)
        puts((*each)->name);
    return 0;
}

static int where(char **names) {
    for (; *names; names++) {
        Dl_info info;
        void *symbol = dlsym(RTLD_DEFAULT, *names);
        puts(symbol && dladdr(symbol, &info) ? info.dli_fname : "nowhere");
    }
    return 0;
}

/* The act's own name must not be needed to bring its moment about: a library
 * that has lost `send` must still be able to hold. */
static int plain_names; /* write and read instead of send and recv */

static void say(int connection, const void *bytes, size_t length) {
    ssize_t n = plain_names ? write(connection, bytes, length) : send(connection, bytes, length, 0);
    if (n != (ssize_t)length)
        fail("write");
}

static void hear(int connection) {
    char answer[64];
    ssize_t n = plain_names ? read(connection, answer, sizeof answer)
                            : recv(connection, answer, sizeof answer, 0);
    if (n <= 0)
        fail("read");
}

static int connected(uint16_t port) {
    struct sockaddr_in peer = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&peer, sizeof peer) < 0)
        fail("connect");
    return connection;
}

static int accepted(const char *name) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&own, length) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&own, &length) < 0)
        fail("listener");
    printf("port %d\n", ntohs(own.sin_port));
    fflush(stdout);
    int connection = strcmp(name, "accept") == 0 ? accept(listener, NULL, NULL)
                                                 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0)
        fail(name);
    return connection;
}

static void greet(int connection, int bursts, int polling) {
    int64_t pid = getpid();
    say(connection, &pid, sizeof pid);
    hear(connection);
    for (int i = 0; i < bursts; i++) {
        say(connection, "head", 4);
        if (polling)
            poll(&(struct pollfd){.fd = connection, .events = POLLIN | POLLOUT}, 1, 1000);
        say(connection, "body", 4);
        hear(connection);
    }
}

static void on_alarm(int signal) {
    (void)signal;
}

static void set_alarm(void) {
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {.it_value.tv_usec = WAIT_MS * 1000, .it_interval.tv_usec = 100000};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* For the reader of a trace; no descriptor, so nothing happens. */
static void mark(const char *what) {
    raw3(SYS_write, -1, what, strlen(what));
}

struct moment {
    const struct act *act;
    int connection, bursts;
    bool beside;
};

static void hold(int connection) {
    int64_t payload[2] = {now_ns()};
    memcpy(&payload[1], "held....", 8);
    say(connection, payload, sizeof payload);
}

static int held_beside;

static void *hold_and_stay(void *argument) {
    const struct moment *moment = argument;
    greet(moment->connection, moment->bursts, 0);
    hold(moment->connection);
    __atomic_store_n(&held_beside, 1, __ATOMIC_RELEASE);
    raw_sleep_ms(3 * WAIT_MS);
    return NULL;
}

static void held_by_another(struct moment *moment) {
    pthread_t thread;
    if (raw6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0) == 0) {
        for (int fd = 0; fd <= STDERR_FILENO; fd++)
            raw1(SYS_close, fd);
        raw_sleep_ms(2 * WAIT_MS);
        raw_exit(0);
    }
    if (pthread_create(&thread, NULL, hold_and_stay, moment) != 0)
        fail("pthread_create");
    while (!__atomic_load_n(&held_beside, __ATOMIC_ACQUIRE))
        raw_sleep_ms(1);
}

static void *hold_and_act(void *argument) {
    const struct moment *moment = argument;
    if (moment->act->flags & ALARM)
        set_alarm();
    if (!(moment->act->flags & UNHELD) && !moment->beside)
        hold(moment->connection);
    mark("the act begins");
    errno = 0;
    int64_t begin = now_ns();
    long result = moment->act->perform(moment->connection);
    int error = errno;
    int64_t took = now_ns() - begin;
    mark("the act has ended");
    if (moment->act->flags & RETURNS)
        return NULL;
    raw_sleep_ms(took / 1000000 < WAIT_MS ? WAIT_MS - took / 1000000 : 0);
    printf("result %ld errno %d took %ld\n", result, error, (long)(took / 1000000));
    fflush(stdout);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list();
    if (argc > 2 && strcmp(argv[1], "where") == 0)
        return where(argv + 2);
    if (argc < 3) {
        fputs("usage: wait_while_holding PORT ACT [BURSTS [polling | beside]]\n", stderr);
        return 2;
    }
    struct moment moment = {.act = find(argv[2])};
    if (!moment.act) {
        fprintf(stderr, "no act %s\n", argv[2]);
        return 2;
    }
    plain_names = strcmp(argv[2], "send") == 0 || strcmp(argv[2], "recv") == 0;
    if (moment.act->prepare)
        moment.act->prepare();
    moment.connection = argv[1][0] == 'a' ? accepted(argv[1]) : connected((uint16_t)atoi(argv[1]));
    moment.bursts = argc > 3 ? atoi(argv[3]) : 0;
    moment.beside = argc > 4 && strcmp(argv[4], "beside") == 0;
    if (moment.beside)
        held_by_another(&moment);
    else
        greet(moment.connection, moment.bursts, argc > 4);

    if (moment.act->flags & IN_THREAD) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, hold_and_act, &moment) != 0)
            fail("pthread_create");
        raw_sleep_ms(2 * WAIT_MS);
        raw_exit(0);
    }
    hold_and_act(&moment);
    return 0;
}
