/* SPDX-License-Identifier: MIT
 *
 * A handler of SIGALRM that writes to a link of its own, with any code interrupted beneath it.
 */
#include <sys/time.h>

#include "torture.h"

static struct link *own;
static struct actor own_actor;
static pid_t program;
static int busy;

static void put_little(size_t bytes) {
    uint64_t at = own->sent;
    ssize_t n = send(own->fd, stream_at(own->number, own->sent), bytes, MSG_DONTWAIT);
    note(&own_actor, own, "alarm %zu@%llu = %zd", bytes, (unsigned long long)at, n);
    if (n < 0 && errno != EAGAIN)
        violation(&own_actor, own, "send in a handler: %s", strerror(errno));
    if (n > 0)
        link_sent(own, (size_t)n);
}

static void on_alarm(int number) {
    int saved = errno;
    (void)number;
    if (getpid() != program)
        return; /* ThreadSanitizer delivers its parent's signals late, and in a child too */
    if (!__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
        for (int pieces = 1 + (int)below(&own_actor, 3); pieces > 0; pieces--)
            put_little(1 + below(&own_actor, 60));
        __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    }
    errno = saved;
}

static void set_timer(struct actor *a, bool on) {
    struct itimerval timer = {0};
    if (on)
        timer.it_value.tv_usec = timer.it_interval.tv_usec = 200 + (int)below(a, 3000);
    setitimer(ITIMER_REAL, &timer, NULL);
}

void alarm_begins(struct actor *a, bool restart) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = restart ? SA_RESTART : 0};
    program = getpid();
    own = link_open(a);
    own_actor = *a;
    own_actor.number = 49;
    sigaction(SIGALRM, &action, NULL);
    alarms = true;
    set_timer(a, true);
}

/* send is a cancellation point: a thread cancelled inside the handler would stay busy for ever. */
void alarm_not_here(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void alarm_ends(struct actor *a) {
    set_timer(a, false);
    signal(SIGALRM, SIG_IGN);
    while (__atomic_load_n(&busy, __ATOMIC_ACQUIRE))
        usleep(1000); /* in another thread */
    alarms = false;
    link_end(a, own);
}
