/* SPDX-License-Identifier: MIT */
#include "explain_habit.h"

#include <string.h>

/* Bounds of each timer's waits, in ms: its nominal time, ticks of both sides, and what strace and a
 * quick peer add. */
static const struct { int least, most; } timers[TIMERS] = {{36, 60}, {95, 115}, {190, 220}};

static int timer_of(int64_t ns) {
    for (int i = 0; i < TIMERS; i++)
        if (ns >= timers[i].least * MS && ns <= timers[i].most * MS)
            return i;
    return -1;
}

void habit_add(struct habit *h, enum message_kind kind, int64_t wait_ns,
               const struct shown *example) {
    int timer = timer_of(wait_ns);
    waits_add(&h->all[kind], wait_ns);
    if (timer < 0)
        return;
    h->within[kind][timer]++;
    if (kind != MESSAGE_PIECES)
        return;
    if (h->timed[timer].count < EXAMPLES)
        h->examples[timer][h->timed[timer].count] = *example;
    waits_add(&h->timed[timer], wait_ns);
}

/* How many of these lie from half of the timer's least to twice its most, but not within. */
static double around(const struct waits *w, int timer) {
    double n = 0;
    for (int i = 0; i < WAITS_BUCKETS; i++) {
        double ms = waits_bound(i) / MS;
        bool within = ms >= timers[timer].least - 0.5 && ms <= timers[timer].most;
        if (!within && ms >= timers[timer].least / 2.0 && ms <= timers[timer].most * 2.0)
            n += w->bucket[i];
    }
    return n;
}

/* The share of messages of a kind that waited as long as the timer; 0 where there are none. */
static double share(const struct habit *h, enum message_kind kind, int timer) {
    return h->all[kind].count ? (double)h->within[kind][timer] / h->all[kind].count : 0;
}

static bool likely(const struct habit *h, int timer) {
    double n = h->timed[timer].count, all = h->all[MESSAGE_PIECES].count;
    /* A peer that takes any time sometimes takes this one. */
    if (n == 0 || n < 0.05 * all || n < 2 * around(&h->all[MESSAGE_PIECES], timer))
        return false;
    /* One that takes this time for whole messages as well is slow by itself. */
    double pieces = n / all;
    return share(h, MESSAGE_WHOLE, timer) < pieces / 2 &&
           share(h, MESSAGE_FIRST, timer) < pieces / 2;
}

/* ---- words ----------------------------------------------------------- */

static void compare(const struct waits *w, const char *what, char *text, size_t size) {
    size_t used = strlen(text);
    char median[24];
    if (w->count)
        snprintf(text + used, size - used, "; %s %s", what,
                 duration_text(waits_quantile(w, 0.5), median));
}

static void explain_why(const struct habit *h, int timer, char *text, size_t size) {
    bool compared = h->all[MESSAGE_WHOLE].count || h->all[MESSAGE_FIRST].count;
    snprintf(text, size, "of %u messages in two or more small writes %u waited %d to %d ms",
             h->all[MESSAGE_PIECES].count, h->timed[timer].count, timers[timer].least,
             timers[timer].most);
    compare(&h->all[MESSAGE_WHOLE], "those in one piece", text, size);
    compare(&h->all[MESSAGE_FIRST], "the first of a connection, acknowledged at once,", text, size);
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s",
             compared ? "" : "; there is nothing to compare with, and a slow peer looks alike",
             h->exact ? "." : "; times up to the next call (strace -T tells more).");
}

static void undecided(const struct habit *h, struct findings *out) {
    const struct waits *w = &h->all[MESSAGE_PIECES];
    char median[24];
    if (w->count == 0 || waits_quantile(w, 0.5) < timers[0].least * MS)
        return;
    findings_note(
        out,
        "%s writes to %s in pieces and waits (%u times, median %s), but as a peer that is "
        "slow by itself would make it wait. A capture can tell.",
        h->program, h->service, w->count, duration_text(waits_quantile(w, 0.5), median));
}

void habit_judge(const struct habit *h, struct findings *out) {
    bool any = false;
    for (int timer = 0; timer < TIMERS; timer++) {
        if (!likely(h, timer))
            continue;
        struct finding like = {
            .verdict = VERDICT_STALLS, .by_server = h->by_server, .bound = true, .port = h->port};
        memcpy(like.writer, h->program, sizeof(like.writer));
        memcpy(like.service, h->service, sizeof(like.service));
        memcpy(like.command, h->command, sizeof(like.command));
        explain_why(h, timer, like.evidence, sizeof(like.evidence));
        struct finding *row = findings_row(out, &like);
        memcpy(row->examples, h->examples[timer], sizeof(row->examples));
        row->connections += h->connections;
        row->messages += h->all[MESSAGE_PIECES].count + h->all[MESSAGE_FIRST].count +
                         h->all[MESSAGE_WHOLE].count;
        waits_merge(&row->waits, &h->timed[timer]);
        any = true;
    }
    if (!any)
        undecided(h, out);
}
