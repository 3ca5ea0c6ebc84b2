/* SPDX-License-Identifier: MIT */
#include "stats.h"

#include <string.h>
#include <sys/syscall.h>

#include "config.h"
#include "evidence.h"
#include "fds.h"
#include "kernel.h"
#include "log.h"
#include "raw.h"
#include "spin.h"
#include "stats_rows.h"
#include "tally.h"

struct totals {
    struct conn_counts counts64; /* the 64-bit ones: bytes */
    uint64_t connections, dark, segments;
    uint64_t writes, reads, messages, turns, bursts;
    uint64_t held, gathered, late_pushes, mispredicted, suspected;
    uint64_t pushes[PUSH_CAUSES];
    uint64_t found[EVIDENCE_COUNTERS];
};

/* As the segment names them. */
static const char *const counter_names[SEGMENT_COUNTERS] = {
#define NAME(constant, name, what) name,
    SEGMENT_COUNTERS_OF(NAME)
#undef NAME
};

static struct totals ended;
static uint32_t totals_lock;
static const char *program = "";

void stats_program(const char *name) {
    program = name;
}

const char *stats_program_name(void) {
    return program;
}

/* What was sent, asked where somebody wants to know; or NULL. */
static const struct kernel_segments *segments_of(const struct conn *c, int fd,
                                                 struct kernel_segments *room) {
    bool used = c->counts.writes + c->counts.reads > 0;
    bool wanted = (c->evidence && config()->stats) || (config()->report && used);
    if (!wanted || config()->quiet || c->listener || kernel->segments(fd, room) != 0)
        return NULL;
    return room;
}

static void add(struct totals *t, const struct conn *c, const struct kernel_segments *now) {
    const struct conn_counts *n = &c->counts;
    if (c->listener || n->writes + n->reads == 0)
        return;
    t->segments += now ? now->segments_out : 0;
    t->connections++;
    t->dark += c->policy.dark;
    t->counts64.bytes += n->bytes;
    t->writes += n->writes;
    t->reads += n->reads;
    t->messages += n->messages;
    t->turns += n->turns;
    t->bursts += n->bursts;
    t->held += n->held;
    t->gathered += n->gathered;
    t->late_pushes += n->late_pushes;
    t->mispredicted += n->mispredicted;
    t->suspected += n->suspected;
    for (int i = 0; i < PUSH_CAUSES; i++)
        t->pushes[i] += n->pushes[i];
    for (int i = 0; c->evidence && i < EVIDENCE_COUNTERS; i++)
        t->found[i] += c->evidence->found[i];
}

void stats_connection_ends(struct conn *c, int fd) {
    struct kernel_segments room;
    const struct kernel_segments *now = segments_of(c, fd, &room);
    evidence_ends(c, fd);
    if (c->evidence)
        tally_ends(c, now);
    spin_lock(&totals_lock);
    add(&ended, c, now);
    spin_unlock(&totals_lock);
}

static void add_living(struct conn *c, void *totals) {
    struct kernel_segments room;
    add(totals, c, segments_of(c, c->fd, &room));
}

static void end_living(struct conn *c, void *unused) {
    (void)unused;
    evidence_ends(c, c->fd); /* what is still held leaves now */
    struct kernel_segments room;
    if (c->evidence && !c->listener)
        tally_ends(c, segments_of(c, c->fd, &room));
}

static void move_living(struct conn *c, void *unused) {
    (void)unused;
    if (c->evidence)
        tally_moves(c);
}

void stats_process_ends(bool replaced) {
    if (!segment_now())
        return;
    fds_each(replaced ? move_living : end_living, NULL);
    segment_ends(!replaced);
}

static void field(struct text *t, const char *name, uint64_t n) {
    text_add(t, ", \"");
    text_add(t, name);
    text_add(t, "\": ");
    text_number(t, (int64_t)n);
}

static void as_json(struct text *t, const struct totals *n) {
    text_add(t, "{\"unstall\": ");
    text_json(t, UNSTALL_VERSION);
    field(t, "pid", (uint64_t)raw0(SYS_getpid));
    text_add(t, ", \"program\": ");
    text_json(t, program);
    text_add(t, ", \"mode\": ");
    text_json(t, mode_names[config()->mode]);
    field(t, "connections", n->connections);
    field(t, "writes", n->writes);
    field(t, "reads", n->reads);
    field(t, "messages", n->messages);
    field(t, "turns", n->turns);
    field(t, "bursts", n->bursts);
    field(t, "held_writes", n->held);
    field(t, "gathered_writes", n->gathered);
    field(t, "late_pushes", n->late_pushes);
    text_add(t, ", \"pushes\": {");
    for (int i = 0; i < PUSH_CAUSES; i++) {
        text_add(t, i ? ", \"" : "\"");
        text_add(t, push_cause_names[i]);
        text_add(t, "\": ");
        text_number(t, (int64_t)n->pushes[i]);
    }
    text_add(t, "}");
    field(t, "mispredictions", n->mispredicted);
    field(t, "dark", n->dark);
    field(t, "suspected", n->suspected);
    field(t, "segments", n->segments);
    field(t, "bytes", n->counts64.bytes);
    for (int i = 0; i < EVIDENCE_COUNTERS; i++)
        field(t, counter_names[COUNT_SUSPECTS + i], n->found[i]);
    text_add(t, "}\n");
}

static void fact(struct text *t, uint64_t n, const char *what) {
    text_add(t, " ");
    text_number(t, (int64_t)n);
    text_add(t, what);
}

/* Only where there is something to tell. */
static void stalls_as_text(struct text *t, const uint64_t *found) {
#define FOUND(what) found[COUNT_##what - COUNT_SUSPECTS]
    if (FOUND(SUSPECTS)) {
        text_add(t, "\n  stalls:");
        fact(t, FOUND(STALLS_PROVED), " proved,");
        fact(t, FOUND(STALL_NS) / 1000000, " ms lost in them;");
        fact(t, FOUND(STALLS_BOUND), " more, of at most");
        fact(t, FOUND(STALL_BOUND_NS) / 1000000, " ms;");
        fact(t, FOUND(STALLS_SUSPECTED), " suspected");
    }
    if (FOUND(PEER_STALLS) || FOUND(QUICKACKS)) {
        text_add(t, "\n  peers: ");
        fact(t, FOUND(PEER_STALLS), " stalls of the other side,");
        fact(t, FOUND(PEER_STALL_NS) / 1000000, " ms lost in them;");
        fact(t, FOUND(QUICKACKS), " times TCP_QUICKACK, saving about");
        fact(t, FOUND(QUICKACK_SAVED_NS) / 1000000, " ms");
    }
#undef FOUND
}

static void as_text(struct text *t, const struct totals *n) {
    text_add(t, "unstall report: ");
    text_add(t, program);
    text_add(t, ", process ");
    text_number(t, raw0(SYS_getpid));
    text_add(t, ", mode ");
    text_add(t, mode_names[config()->mode]);
    text_add(t, "\n  seen:  ");
    fact(t, n->connections, " connections,");
    fact(t, n->writes, " writes,");
    fact(t, n->reads, " reads,");
    fact(t, n->counts64.bytes, " bytes written");
    text_add(t, "\n         ");
    fact(t, n->messages, " messages, of them");
    fact(t, n->bursts, " bursts of small writes;");
    fact(t, n->turns, " turns");
    text_add(t, "\n  done:  ");
    fact(t, n->late_pushes, " late pushes (TCP_NODELAY),");
    fact(t, n->held, " writes held,");
    fact(t, n->gathered, " gathered");
    text_add(t, "\n  pushes:");
    for (int i = 0; i < PUSH_CAUSES; i++) {
        text_add(t, i ? ", " : " ");
        text_add(t, push_cause_names[i]);
        text_add(t, " ");
        text_number(t, (int64_t)n->pushes[i]);
    }
    text_add(t, "\n  also:  ");
    fact(t, n->segments, " data segments sent,");
    fact(t, n->mispredicted, " mispredictions,");
    fact(t, n->dark, " dark connections,");
    fact(t, n->suspected, " suspected stalls left alone");
    stalls_as_text(t, n->found);
    text_add(t, "\n");
}

void stats_report(void) {
    const char *target = config()->report;
    if (!target || config()->quiet)
        return; /* a filter may forbid what a report needs */
    spin_lock(&totals_lock);
    struct totals all = ended;
    spin_unlock(&totals_lock);
    fds_each(add_living, &all);
    TEXT(out, 3072);
    size_t n = strlen(target);
    if (n > 5 && strcmp(target + n - 5, ".json") == 0)
        as_json(&out, &all);
    else
        as_text(&out, &all);
    int error = log_to(target, &out);
    if (error == 0)
        return;
    TEXT(line, 512);
    text_add(&line, "UNSTALL_REPORT=");
    text_add(&line, target);
    text_add(&line, ": cannot be written (errno ");
    text_number(&line, -error);
    text_add(&line, "); the report goes to stderr");
    log_line(&line);
    log_to("stderr", &out);
}

void stats_forked(void) {
    memset(&ended, 0, sizeof(ended));
}
