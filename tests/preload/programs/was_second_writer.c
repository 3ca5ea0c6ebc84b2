/* SPDX-License-Identifier: MIT
 *
 * The send buffer is full, and the peer does not read.  Two threads block in a write, one after the other,
 * and the second write
 *
 *   interrupts  at signals
 *   restarts    after signals (SA_RESTART)
 *   closes      goes on while the descriptor is closed
 *   cancels     ends with its thread, which is cancelled
 *
 * The facts: what the second write returned, its errno, and whether that was before the peer read.
 */
#include "client.h"

enum { LARGE = 8000 /* never buffered */ };
enum { PIECE = 1000, SMALL = 100, SIGNALS = 5, SIGNALS_MOST = 100, APART_US = 20000, LOOKS = 5 };

typedef struct {
    pthread_t thread;
    volatile pid_t id;
    volatile bool returned;
    ssize_t sent;
    int error;
} writer_t;

static int fd;
static char piece[LARGE];

static void nothing(int number)
{
    (void)number;
}

static void *writes(void *argument)
{
    writer_t *writer = argument;
    writer->id = (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0);
    writer->sent = write(fd, piece, LARGE);
    writer->error = writer->sent < 0 ? errno : 0;
    writer->returned = true;
    return NULL;
}

static char state_of(pid_t id)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)id);
    FILE *file = fopen(path, "r");
    CHECK(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
    fclose(file);
    return state;
}

static void start_and_await_sleep(writer_t *writer)
{
    CHECK(pthread_create(&writer->thread, NULL, writes, writer) == 0);
    while (!writer->id) sched_yield();
    for (int looks = 0; looks < LOOKS; looks++, usleep(1000))
        if (state_of(writer->id) != 'S') looks = -1;
}

static int fill_unseen(void)
{
    int pieces = 0;
    while (raw_call(SYS_sendto, fd, (long)piece, PIECE, MSG_DONTWAIT, 0) > 0) pieces++;
    return pieces;
}

static void send_signals(writer_t *writer, int most)
{
    for (int i = 0; i < most && !writer->returned; i++) {
        CHECK(pthread_kill(writer->thread, SIGUSR1) == 0);
        usleep(APART_US);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    bool restarts = strcmp(argv[5], "restarts") == 0;
    struct sigaction action = {.sa_handler = nothing, .sa_flags = restarts ? SA_RESTART : 0};
    int small = 4608, large = 16384;
    writer_t first = {0}, second = {0};
    void *end = NULL;
    client_t client = client_arguments(argc, argv);
    fd = connect_to(client);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    sigaction(SIGUSR1, &action, NULL);
    CHECK(write(fd, piece, PIECE) == PIECE);
    read_reply(fd);
    while (fill_unseen()) await_settled(fd); /* the peer takes no more */
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof large) == 0);
    CHECK(write(fd, piece, SMALL) == SMALL); /* coalesce buffers it, and then there is no more room */
    fill_unseen();
    start_and_await_sleep(&first);
    start_and_await_sleep(&second);
    if (strcmp(argv[5], "closes") == 0) {
        CHECK(close(fd) == 0);
        usleep(APART_US);
    } else if (strcmp(argv[5], "cancels") == 0) {
        CHECK(pthread_cancel(second.thread) == 0 && pthread_join(second.thread, &end) == 0);
        CHECK(end == PTHREAD_CANCELED);
    } else {
        send_signals(&second, restarts ? SIGNALS : SIGNALS_MOST);
    }
    bool early = second.returned;
    tell_peer(client);
    CHECK(pthread_join(first.thread, NULL) == 0);
    CHECK(end || pthread_join(second.thread, NULL) == 0);
    CHECK(first.sent == LARGE);
    ADD_FACT("\"sent\": %zd, \"error\": %d, \"early\": %s", second.sent, second.error,
             early ? "true" : "false");
    return report();
}
