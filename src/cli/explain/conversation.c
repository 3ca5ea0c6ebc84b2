/* SPDX-License-Identifier: MIT */
#include "conversation.h"

#include <stdio.h>
#include <string.h>

#include "late.h"

/* Bounds of each timer's waits in ms: its nominal time, ticks of both sides, and the time that strace and a
 * quick peer add. */
static const struct { int least, most; } timers[TIMERS] = {{LATE_USUAL_MS, 60}, {95, 115}, {190, 220}};

static int timer_of(int64_t ns) {
    for (int i = 0; i < TIMERS; i++)
        if (ns >= timers[i].least * MS && ns <= timers[i].most * MS)
            return i;
    return -1;
}

void conversation_add(struct conversation *c, enum message_kind kind, int64_t wait_ns,
                      const struct finding_example *example) {
    int timer = timer_of(wait_ns);
    waits_add(&c->all[kind], wait_ns);
    for (int i = 0; i < TIMERS; i++)
        if (c->timed[i].count && (i != timer || kind != MESSAGE_PIECES))
            timeline_add(&c->when[i], example->at_ns[2], 0, 1);
    if (timer < 0)
        return;
    c->within[kind][timer]++;
    if (kind != MESSAGE_PIECES)
        return;
    if (c->timed[timer].count < EXAMPLES)
        c->examples[timer][c->timed[timer].count] = *example;
    waits_add(&c->timed[timer], wait_ns);
    timeline_add(&c->when[timer], example->at_ns[2], 1, 0);
}

static uint64_t stalled_bytes(const struct conversation *c) {
    for (int i = 0; i < TIMERS; i++)
        if (c->timed[i].count)
            return (uint64_t)c->examples[i][0].bytes[0] + c->examples[i][0].bytes[1];
    return 0;
}

void conversation_unheld(struct conversation *c, const struct unheld *m) {
    unheld_keep(&c->unheld, m, stalled_bytes(c));
}

/* The number of waits from half the timer's lower bound to twice its upper bound that are not within the
 * bounds. */
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

/* The share of messages of a kind that waited as long as the timer; 0 if there are none. */
static double share(const struct conversation *c, enum message_kind kind, int timer) {
    return c->all[kind].count ? (double)c->within[kind][timer] / c->all[kind].count : 0;
}

static bool likely(const struct conversation *c, int timer) {
    double n = c->timed[timer].count, all = c->all[MESSAGE_PIECES].count;
    /* A peer with random delays has some within the bounds. */
    if (n == 0 || n < 0.05 * all || n < 2 * around(&c->all[MESSAGE_PIECES], timer))
        return false;
    /* A peer that delays whole messages as well is slow itself. */
    double pieces = n / all;
    return share(c, MESSAGE_WHOLE, timer) < pieces / 2 &&
           share(c, MESSAGE_FIRST, timer) < pieces / 2;
}

/* ---- words ----------------------------------------------------------- */

static void compare(const struct waits *w, const char *what, char *text, size_t size) {
    size_t used = strlen(text);
    char median[24];
    if (w->count)
        snprintf(text + used, size - used, "; %s %s", what,
                 duration_text(waits_quantile(w, 0.5), median));
}

static void explain_why(const struct conversation *c, int timer, char *text, size_t size) {
    bool compared = c->all[MESSAGE_WHOLE].count || c->all[MESSAGE_FIRST].count;
    snprintf(text, size, "of %u messages in two or more small writes %u waited %d to %d ms",
             c->all[MESSAGE_PIECES].count, c->timed[timer].count, timers[timer].least,
             timers[timer].most);
    compare(&c->all[MESSAGE_WHOLE], "messages in one write", text, size);
    compare(&c->all[MESSAGE_FIRST], "the first of a connection, acknowledged at once,", text, size);
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s",
             compared
                 ? ""
                 : "; there are no other messages to compare with, and a slow peer looks the same",
             c->exact ? "." : "; times up to the next call (strace -T tells more).");
}

static void undecided(const struct conversation *c, struct findings *out) {
    const struct waits *w = &c->all[MESSAGE_PIECES];
    char median[24];
    if (w->count == 0 || waits_quantile(w, 0.5) < timers[0].least * MS)
        return;
    snprintf(out->because, sizeof(out->because),
             "in a log, waits behind small writes look like a slow peer; a capture can tell");
    findings_note(out,
                  "%s writes to %s in pieces and waits (%u times, median %s), but a slow peer "
                  "looks the same. A capture can tell.",
                  c->program, c->service, w->count, duration_text(waits_quantile(w, 0.5), median));
}

void conversation_judge(const struct conversation *c, struct findings *out) {
    bool any = false;
    uint64_t exchanges = 0;
    for (int kind = 0; kind < MESSAGE_KINDS; kind++)
        exchanges += c->all[kind].count;
    out->exchanges += exchanges;
    out->firsts += exchanges < c->connections ? exchanges : c->connections;
    for (int timer = 0; timer < TIMERS; timer++) {
        if (!likely(c, timer))
            continue;
        struct finding like = {
            .verdict = STALL_FOUND, .by_server = c->by_server, .bound = true, .port = c->port};
        memcpy(like.writer, c->program, sizeof(like.writer));
        memcpy(like.service, c->service, sizeof(like.service));
        memcpy(like.command, c->command, sizeof(like.command));
        explain_why(c, timer, like.evidence, sizeof(like.evidence));
        struct finding *row = findings_row(out, &like);
        memcpy(row->examples, c->examples[timer], sizeof(row->examples));
        if (unheld_is_about(&c->unheld, stalled_bytes(c)))
            row->unheld = c->unheld;
        row->connections += c->connections;
        row->messages += c->all[MESSAGE_PIECES].count + c->all[MESSAGE_FIRST].count +
                         c->all[MESSAGE_WHOLE].count;
        waits_merge(&row->waits, &c->timed[timer]);
        timeline_merge(&row->when, &c->when[timer]);
        any = true;
    }
    if (!any)
        undecided(c, out);
}
