/* SPDX-License-Identifier: MIT
 *
 * Blocking writes fill the send buffer, as the peer does not read yet, and in the one that blocks a
 * signal handler (argv[5])
 *
 *   writes   a piece of its own to the same connection, and the write goes on
 *   jumps    out of it, and the program writes again
 *   closes   writes a piece, and another thread closes the connection
 *
 * All bytes are the same; the fact `bytes` is how many there are at least, `at_most` counts the whole
 * of the write that was left.
 */
#include "client.h"
#include <setjmp.h>
#include <sys/time.h>

enum { PIECE = 1000, PIECES = 100, SMALL = 100, AFTER_US = 200000 };

static int fd;
static volatile size_t sent;
static volatile bool written, closed;
static sigjmp_buf place;
static char piece[PIECE];

static void write_more(int number)
{
    (void)number;
    CHECK(write(fd, piece, 1) == 1);
    sent += 1;
    written = true;
}

static void *close_then(void *unused)
{
    while (!written) sched_yield();
    closed = true;
    CHECK(close(fd) == 0);
    return unused;
}

static void jump(int number)
{
    (void)number;
    siglongjmp(place, 1);
}

static void put(size_t bytes)
{
    ssize_t n = write(fd, piece, bytes); /* a signal may cut it short */
    CHECK(n > 0 || closed);
    sent += n > 0 ? (size_t)n : 0;
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    bool jumps = strcmp(argv[5], "jumps") == 0, closes = strcmp(argv[5], "closes") == 0;
    pthread_t closer;
    struct sigaction action = {.sa_handler = jumps ? jump : write_more, .sa_flags = SA_RESTART};
    struct itimerval soon = {.it_value.tv_usec = AFTER_US};
    int small = 4608;
    memset(piece, 'd', sizeof piece);
    client_t client = client_arguments(argc, argv);
    fd = connect_to(client);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    sigaction(SIGALRM, &action, NULL);
    CHECK(write(fd, piece, PIECE) == PIECE);
    read_reply(fd);
    sent = PIECE;
    put(SMALL); /* coalesce buffers it, and then there is no more room, unseen */
    for (long n; (n = raw_call(SYS_sendto, fd, (long)piece, PIECE, MSG_DONTWAIT, 0)) > 0;)
        sent += (size_t)n;
    if (closes) {
        CHECK(pthread_create(&closer, NULL, close_then, NULL) == 0);
    }
    setitimer(ITIMER_REAL, &soon, NULL);
    if (sigsetjmp(place, 1) == 0)
        for (int i = 0; i < PIECES && !closed; i++) put(PIECE);
    put(PIECE);
    ADD_FACT("\"bytes\": %zu, \"at_most\": %zu", (size_t)sent, (size_t)sent + (jumps ? PIECE : 0));
    if (!closes)
        close(fd);
    return report();
}
