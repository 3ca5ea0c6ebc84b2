/* SPDX-License-Identifier: MIT
 *
 * Exchanges made by a signal handler, on a connection of its own, while the main
 * program is at any point of its own exchanges.  The timer is set again by the handler: it must
 * not come back before the main program has moved on.
 */
#include "client.h"
#include <sys/time.h>

static int own, handlers;
static volatile sig_atomic_t rounds;
static const struct itimerval soon = {.it_value.tv_usec = 700}, never;

static void on_alarm(int number)
{
    (void)number;
    int saved = errno;
    char data[HEADER + BODY], reply[REPLY];
    fill(data, sizeof data, (size_t)rounds++ * sizeof data);
    CHECK(write(handlers, data, HEADER) == HEADER);
    CHECK(write(handlers, data + HEADER, BODY) == BODY);
    CHECK(recv(handlers, reply, sizeof reply, MSG_WAITALL) == REPLY);
    setitimer(ITIMER_REAL, &soon, NULL);
    errno = saved;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    client_t client = client_arguments(argc, argv);
    own = connect_to(client);
    handlers = connect_to(client);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    run_exchanges(own, client.count, two_writes);
    setitimer(ITIMER_REAL, &never, NULL);
    close(own);
    close(handlers);
    ADD_FACT("\"handled\": %d", (int)rounds);
    return report();
}
