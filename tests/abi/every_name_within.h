/* SPDX-License-Identifier: MIT
 *
 * The situation `within` of every_name.c: the library is interrupted by a signal at its own instructions.
 */
#include "../harness/places.h"

static int next_name;

/* Each name at several places, without jumps: a jump within the handler releases the lock (libunstall(7)). */
enum { TIMES = 4 };

static void make_next(void)
{
    static int times;
    if (calls[next_name].how != JUMP) make(next_name);
    if (++times % TIMES == 0) next_name++;
}

/* Every byte comes, once and in order, whatever stood between. */
static void exchange_twice(void)
{
    exchange_once();
    exchange_once();
}

static void within(void)
{
    sigprocmask(SIG_BLOCK, &alarm_signal, NULL);
    int one = 1; /* out of sight: where nothing is cured no exchange shall take 40 ms */
    raw_call(SYS_setsockopt, near_end, IPPROTO_TCP, TCP_NODELAY, (long)&one, sizeof one);
    at_place = make_next;
    if (!places_learn(exchange_twice)) {
        while (next_name < CALLS) make_next();
        return;
    }
    for (int i = 0; next_name < CALLS; i++) places_run(exchange_once, places[i * 11 % place_count]);
    for (int i = 0; i < 8; i++) exchange_once();
    fprintf(stderr, "%d places\n", place_count);
}
