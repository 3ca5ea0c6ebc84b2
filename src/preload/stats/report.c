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
    uint64_t counts[COUNTED] = {[COUNT_CONNECTIONS] = 1, [COUNT_SEGMENTS] = now ? now->segments_out : 0};
    if (c->listener || c->counts.writes + c->counts.reads == 0)
        return;
    evidence_counts(c, counts);
    for (int i = 0; i < REPORTED; i++)
        if (counts[i])
            __atomic_fetch_add(&total[i], counts[i], __ATOMIC_RELAXED);
}

void stats_connection_ends(struct conn *c, int fd) {
    struct kernel_tcp_info room;
    const struct kernel_tcp_info *now = tcp_info_of(c, fd, &room);
    evidence_ends(c, fd);
    if (c->evidence)
        tally_ends(c, now);
    add(ended, c, now);
}

/* Text: one line for each counter that is not zero.  JSON: pushes are an object with one member a cause. */
static void print(struct text *t, const uint64_t *total, bool json) {
    enum { FIRST = COUNT_PUSH_WAIT, LAST = FIRST + PUSH_CAUSES - 1 };
    text_print(t, json ? "{\"unstall\": \"" UNSTALL_VERSION "\", \"program\": %j, \"pid\": %d, \"mode\": %j"
                       : "unstall report: %s, process %d, mode %s\n",
               config()->program, raw0(SYS_getpid), mode_names[config()->mode]);
    for (int i = 0; i < REPORTED; i++) {
        const char *name = names[i].name;
        if (json)
            text_print(t, i == FIRST ? ", \"pushes\": {%j: %d" : i == LAST ? ", %j: %d}" : ", %j: %d",
                       i >= FIRST && i <= LAST ? name + strlen("pushes_") : name, (long)total[i]);
        else if (total[i])
            text_print(t, "  %s: %d (%s)\n", name, (long)total[i], names[i].what);
    }
    if (json)
        text_add(t, "}\n");
}

static void report(const char *target) {
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
    print(&out, all, n > 5 && strcmp(target + n - 5, ".json") == 0);
    int error = log_to(target, &out);
    if (error) {
        log_line("UNSTALL_REPORT=%v: cannot be written (errno %d); the report goes to stderr", target,
                 (long)-error);
        log_to("stderr", &out);
    }
    text_unmap(&out);
}

void stats_process_ends(bool replaced) {
    if (config()->report && !config()->no_syscalls) /* a filter may forbid the report's system calls */
        report(config()->report);
    if (!stats_file_now())
        return;
    FDS_EACH(c) {
        struct kernel_tcp_info room;
        if (c->evidence && replaced) {
            tally_moves(c);
        } else if (c->evidence) {
            evidence_ends(c, c->fd); /* the kernel sends held bytes now */
            tally_ends(c, tcp_info_of(c, c->fd, &room));
        }
    }
    stats_file_ends(replaced ? STATS_REPLACED : STATS_ENDS);
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
    if (kernel->name(fd, true, &peer) == 0 && config_address(&peer, &far))
        inet_ntop(far.family, far.address, address, sizeof(address));
    log_line("descriptor %d to %s port %d: a second small write (%d bytes) in one message, "
             "with Nagle in force: TCP_NODELAY set",
             (long)fd, address, (long)far.port, (long)bytes);
}
