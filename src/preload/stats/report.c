/* SPDX-License-Identifier: MIT */

#include <arpa/inet.h>

#include "evidence.h"
#include "fds.h"
#include "stats_file.h"

/* The report has the first counters of the statistics file, up to this one. */
enum { REPORTED = COUNT_CONNECTIONS_ENDED, LONGEST_REPORT = 4096 };

#define NAME(constant, name, what) {#name, what},
static const struct {
    const char *name, *what;
} names[] = {STATS_COUNTERS_OF(NAME)};
#undef NAME

static uint64_t ended[REPORTED]; /* atomic */

/* TCP_INFO of c, if statistics or a report need it; else NULL. */
static const struct kernel_tcp_info *tcp_info_of(const struct conn *c, int fd,
                                                 struct kernel_tcp_info *room) {
    bool used = c->counts.writes + c->counts.reads > 0;
    bool wanted = (c->evidence && config()->stats) || (config()->report && used);
    if (!wanted || config()->no_syscalls || c->listener || kernel->tcp_info(fd, room) != 0)
        return NULL;
    return room;
}

static void add(uint64_t *total, const struct conn *c, const struct kernel_tcp_info *now) {
    const struct conn_counts *n = &c->counts;
    if (c->listener || n->writes + n->reads == 0)
        return;
    total[COUNT_CONNECTIONS]++;
    total[COUNT_BYTES] += n->bytes;
    total[COUNT_SEGMENTS] += now ? now->segments_out : 0;
    total[COUNT_UNTRACKED] += c->policy.untracked_io;
    for (int i = 0; i < CONN_COUNTERS; i++)
        total[COUNT_WRITES + i] += n->counter[i];
    for (int i = 0; c->evidence && i < EVIDENCE_COUNTERS; i++)
        total[COUNT_SUSPECTS + i] += c->evidence->found[i];
}

void stats_connection_ends(struct conn *c, int fd) {
    struct kernel_tcp_info room;
    const struct kernel_tcp_info *now = tcp_info_of(c, fd, &room);
    evidence_ends(c, fd);
    if (c->evidence)
        tally_ends(c, now);
    uint64_t of_this[REPORTED] = {0};
    add(of_this, c, now);
    for (int i = 0; i < REPORTED; i++)
        if (of_this[i])
            __atomic_fetch_add(&ended[i], of_this[i], __ATOMIC_RELAXED);
}

void stats_process_ends(bool replaced) {
    if (!stats_file_now())
        return;
    FDS_EACH(c) {
        struct kernel_tcp_info room;
        if (!replaced)
            evidence_ends(c, c->fd); /* the kernel sends held bytes now */
        if (c->evidence && replaced)
            tally_moves(c);
        else if (c->evidence && !c->listener)
            tally_ends(c, tcp_info_of(c, c->fd, &room));
    }
    stats_file_ends(replaced ? STATS_REPLACED : STATS_ENDS);
}

/* Pushes are an object with one member a cause. */
static void as_json(struct text *t, const uint64_t *total) {
    text_print(t, "{\"unstall\": %j, \"pid\": %d, \"program\": %j, \"mode\": %j", UNSTALL_VERSION,
               raw0(SYS_getpid), config()->program, mode_names[config()->mode]);
    for (int i = 0; i < REPORTED; i++) {
        bool push = i >= COUNT_PUSH_WAIT && i < COUNT_PUSH_WAIT + PUSH_CAUSES;
        text_print(t, i == COUNT_PUSH_WAIT ? ", \"pushes\": {%j: %d" : ", %j: %d",
                   names[i].name + (push ? strlen("pushes_") : 0), (long)total[i]);
        if (i == COUNT_PUSH_WAIT + PUSH_CAUSES - 1)
            text_add(t, "}");
    }
    text_add(t, "}\n");
}

/* One line for each counter that is not zero. */
static void as_text(struct text *t, const uint64_t *total) {
    text_print(t, "unstall report: %s, process %d, mode %s\n", config()->program, raw0(SYS_getpid),
               mode_names[config()->mode]);
    for (int i = 0; i < REPORTED; i++)
        if (total[i])
            text_print(t, "  %s: %d (%s)\n", names[i].name, (long)total[i], names[i].what);
}

void stats_report(void) {
    const char *target = config()->report;
    if (!target || config()->no_syscalls)
        return; /* a seccomp filter may forbid the report's system calls */
    uint64_t all[REPORTED];
    for (int i = 0; i < REPORTED; i++)
        all[i] = LOAD(&ended[i]);
    FDS_EACH(c) {
        struct kernel_tcp_info room;
        add(all, c, tcp_info_of(c, c->fd, &room));
    }
    struct text out;
    if (!text_map(&out, LONGEST_REPORT))
        return;
    size_t n = strlen(target);
    if (n > 5 && strcmp(target + n - 5, ".json") == 0)
        as_json(&out, all);
    else
        as_text(&out, all);
    int error = log_to(target, &out);
    if (error) {
        log_line("UNSTALL_REPORT=%v: cannot be written (errno %d); the report goes to stderr", target,
                 (long)-error);
        log_to("stderr", &out);
    }
    text_unmap(&out);
}

void stats_forked(void) {
    memset(&ended, 0, sizeof(ended));
}

/* ---- log lines (UNSTALL_VERBOSE) ---------------------------------------- */

void verbose_start(void) {
    const struct config *now = config();
    if (!verbose(1))
        return;
    log_line("%s[%d]: mode %s, window %d us, small %d bytes", now->program, raw0(SYS_getpid),
             mode_names[now->mode], (long)now->window_us, (long)now->small);
}

void verbose_late_push(int fd, size_t bytes, bool first) {
    if (!verbose(first ? 1 : 2) || config()->no_syscalls)
        return;
    struct sockaddr_storage peer = {0};
    struct stats_address far = {0};
    char address[INET6_ADDRSTRLEN] = "?";
    if (kernel->name(fd, true, &peer) == 0 && address_of(&peer, &far))
        inet_ntop(far.family, far.address, address, sizeof(address));
    log_line("descriptor %d to %s port %d: a second small write (%d bytes) in one message, "
             "with Nagle in force: TCP_NODELAY set",
             (long)fd, address, (long)far.port, (long)bytes);
}
