/* SPDX-License-Identifier: MIT
 *
 * Exchanges, the half of a message, and then a wait for room in a full pipe, within which a signal
 * handler writes to another pipe.  argv[5] is the wait: ppoll or pselect.
 */
#include "client.h"
#include <sys/select.h>

static int self_pipe[2];

static void on_signal(int number)
{
    int saved = errno;
    (void)number;
    CHECK(write(self_pipe[1], "x", 1) == 1);
    errno = saved;
}

int main(int argc, char **argv)
{
    static char much[1 << 20];
    static const struct timespec second = {.tv_sec = 1};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t one, none;
    int full[2], result;
    CHECK(argc == 6 && pipe(self_pipe) == 0 && pipe2(full, O_NONBLOCK) == 0);
    client_t client = client_arguments(argc, argv);
    CHECK(write(full[1], much, sizeof much) > 0);
    sigemptyset(&none);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigaction(SIGUSR1, &action, NULL);
    sigprocmask(SIG_BLOCK, &one, NULL);
    int fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    next_message(client.count);
    CHECK(write(fd, message, HEADER) == HEADER);
    raise(SIGUSR1);
    errno = 0;
    if (strcmp(argv[5], "ppoll") == 0) {
        struct pollfd room = {.fd = full[1], .events = POLLOUT};
        result = ppoll(&room, 1, &second, &none);
    } else {
        fd_set room;
        FD_ZERO(&room);
        FD_SET(full[1], &room);
        result = pselect(full[1] + 1, NULL, &room, NULL, &second, &none);
    }
    CHECK(result == -1 && errno == EINTR);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    return report();
}
