/* SPDX-License-Identifier: MIT */
#include "conversation.h"

#include <string.h>

/* Bounds of each timer's waits in ms: its nominal time, ticks of both sides, and the time that strace and a
 * quick peer add. */
static const struct { int least, most; } timers[TIMERS] = {{LATE_USUAL_MS, 60}, {95, 115}, {190, 220}};

/* Fewer waits as long as a timer are no sign of anything: at least 5 % of all. */
static const double SOME = 0.05;
enum { SOME_LEAST = 3 };

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
    for (int k = 0; k < MESSAGE_HOLDABLE; k++)
        for (int i = 0; i < TIMERS; i++)
            if (c->timed[k][i].waits.count && (i != timer || k != (int)kind))
                timeline_add(&c->timed[k][i].when, example->at_ns[2], 0, 1);
    if (timer < 0)
        return;
    c->within[kind][timer]++;
    if (kind >= MESSAGE_HOLDABLE)
        return;
    struct timed *t = &c->timed[kind][timer];
    if (t->waits.count < EXAMPLES)
        t->examples[t->waits.count] = *example;
    waits_add(&t->waits, wait_ns);
    timeline_add(&t->when, example->at_ns[2], 1, 0);
}

void conversation_more(struct conversation *c, int64_t wait_ns) {
    c->more++;
    c->more_within += timer_of(wait_ns) >= 0;
}

static uint64_t stalled_bytes(const struct conversation *c) {
    for (int i = 0; i < TIMERS; i++) {
        const struct timed *t = &c->timed[MESSAGE_PIECES][i];
        if (t->waits.count)
            return (uint64_t)t->examples[0].bytes[0] + t->examples[0].bytes[1];
    }
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

static bool likely(const struct conversation *c, enum message_kind kind, int timer) {
    double n = c->timed[kind][timer].waits.count;
    /* A peer with random delays has some within the bounds. */
    if (n < SOME_LEAST || n < SOME * c->all[kind].count || n < 2 * around(&c->all[kind], timer))
        return false;
    /* A peer that delays other messages as well is slow itself. */
    for (int other = 0; other < MESSAGE_KINDS; other++)
        if (other != (int)kind && share(c, other, timer) >= share(c, kind, timer) / 2)
            return false;
    return true;
}

/* ---- words ----------------------------------------------------------- */

static void compare(const struct waits *w, const char *what, char *text, size_t size) {
    size_t used = strlen(text);
    char median[24];
    if (w->count)
        snprintf(text + used, size - used, "; %s %s", what,
                 duration_text(waits_quantile(w, 0.5), median));
}

static void explain_why(const struct conversation *c, enum message_kind kind, int timer, char *text,
                        size_t size) {
    bool behind = kind == MESSAGE_BEHIND;
    bool compared = behind || c->all[MESSAGE_WHOLE].count || c->all[MESSAGE_FIRST].count;
    snprintf(text, size, "of %u %s %u waited %d to %d ms", c->all[kind].count,
             behind ? "small messages behind one in several writes, whose last may have no answer,"
                    : "messages in two or more small writes",
             c->timed[kind][timer].waits.count, timers[timer].least, timers[timer].most);
    if (behind)
        compare(&c->all[MESSAGE_PIECES], "the messages before them", text, size);
    compare(&c->all[MESSAGE_WHOLE], "messages in one write", text, size);
    compare(&c->all[MESSAGE_FIRST], "the first of a connection, acknowledged at once,", text, size);
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s",
             compared
                 ? ""
                 : "; there are no other messages to compare with, and a slow peer looks the same",
             c->exact ? "." : "; times up to the next call (strace -T tells more).");
}

static bool are_some(uint64_t n, uint64_t all) {
    return n >= SOME_LEAST && (double)n >= SOME * (double)all;
}

/* Waits as long as a stall, of which none is claimed: a slow peer, a busy machine, or stalls. */
static void undecided(const struct conversation *c, uint64_t exchanges, struct findings *out) {
    uint64_t n = c->more_within, all = exchanges + c->more;
    for (int kind = 0; kind < MESSAGE_KINDS; kind++)
        for (int timer = 0; timer < TIMERS; timer++)
            n += c->within[kind][timer];
    out->undecided += n;
    out->undecided_of += all;
    if (!are_some(n, all))
        return;
    snprintf(out->because, sizeof(out->because),
             "%lu of %.80s's %lu waits for %s%s are as long as a stall, and nothing tells them from a slow "
             "peer or a busy machine. A capture can tell (tcpdump -w)",
             (unsigned long)n, c->program, (unsigned long)all, c->by_server ? "its clients on " : "",
             c->service);
}

void conversation_judge_all(struct findings *out) {
    if (!out->because[0] && are_some(out->undecided, out->undecided_of))
        snprintf(out->because, sizeof(out->because),
                 "%lu of %lu waits are as long as a stall, but too few of any one program and service to "
                 "tell them from a slow peer. A capture can tell (tcpdump -w)",
                 (unsigned long)out->undecided, (unsigned long)out->undecided_of);
}

void conversation_judge(const struct conversation *c, struct findings *out) {
    bool any = false;
    uint64_t exchanges = 0;
    for (int kind = 0; kind < MESSAGE_KINDS; kind++)
        exchanges += c->all[kind].count;
    out->exchanges += exchanges;
    out->firsts += exchanges < c->connections ? exchanges : c->connections;
    for (int i = 0; i < MESSAGE_HOLDABLE * TIMERS; i++) {
        enum message_kind kind = i / TIMERS;
        int timer = i % TIMERS;
        const struct timed *t = &c->timed[kind][timer];
        if (!likely(c, kind, timer))
            continue;
        struct finding like = {
            .verdict = STALL_FOUND, .by_server = c->by_server, .bound = true, .port = c->port};
        memcpy(like.writer, c->program, sizeof(like.writer));
        memcpy(like.service, c->service, sizeof(like.service));
        memcpy(like.command, c->command, sizeof(like.command));
        explain_why(c, kind, timer, like.evidence, sizeof(like.evidence));
        struct finding *row = findings_row(out, &like);
        memcpy(row->examples, t->examples, sizeof(row->examples));
        if (kind == MESSAGE_PIECES && unheld_is_about(&c->unheld, stalled_bytes(c)))
            row->unheld = c->unheld;
        row->connections += c->connections;
        row->messages += exchanges;
        waits_merge(&row->waits, &t->waits);
        timeline_merge(&row->when, &t->when);
        any = true;
    }
    if (!any)
        undecided(c, exchanges, out);
}
