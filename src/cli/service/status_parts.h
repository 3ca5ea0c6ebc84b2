/* SPDX-License-Identifier: MIT
 *
 * The findings of `unstall status`, and their two forms: text and JSON.
 */
#ifndef UNSTALL_CLI_STATUS_PARTS_H
#define UNSTALL_CLI_STATUS_PARTS_H

#include <time.h>

#include "attach.h"
#include "dropin.h"
#include "fetch.h"
#include "report_verdict.h"

struct status_dropin {
    bool there;
    char path[PATH_MAX];
    bool changed; /* by hand */
    time_t since; /* 0: not known */
    char mode[64];
};

struct status_processes {
    size_t count, with, unknown;
    struct stats_files files; /* the statistics files of these processes */
    char mode[32];            /* in force now, of the last process that has a file */
};

/* One unit that systemd knows: the unit itself, or an instance of a template. */
struct status_running {
    const char *name;
    bool instance;
    const char *state, *since; /* as systemd has them: "active", "Sun 2026-11-22 21:00:00 UTC" */
    const struct status_processes *processes;
    const struct report_verdict *verdict; /* NULL: no statistics */
};

/* Processes beyond these units: of one program and in one mode, with the library; or of one `unstall run`
 * under the supervisor. */
struct status_group {
    pid_t guard;      /* the session of its guard; 0: they have the library */
    bool guard_blind; /* guards.h */
    char program[64]; /* of the oldest process; "" if none may be inspected */
    uint64_t start;   /* of the oldest, as in process_stat.h */
    pid_t *pids;
    struct status_processes processes;
};

/* What is cured without a drop-in. */
struct status_beyond {
    struct status_group *groups;
    size_t group_count;
    size_t unknown_processes; /* they may not be inspected */
    struct attach_state *attached;
    size_t attached_count;
    const char *unknown; /* the reason why what is attached is not known; NULL: it is */
    struct attach_fetching *fetching;
    size_t fetching_count;
};

/* The sums of the statistics.  False: there are none. */
struct status_sums {
    uint64_t exchanges, stalls;
    bool looked; /* for stalls */
};
bool status_sums(const struct stats_files *files, struct status_sums *sums);

/* The verdict on the processes that have statistics; NULL: none has.  Valid until the next call. */
const struct report_verdict *status_judge(const struct status_processes *p);

/* Called in this order for each unit: unit, then running for each that systemd knows (or unknown, if
 * systemd does not run), then unit_end.  The last one gets NULL where a unit was asked for. */
struct status_form {
    void (*begin)(void);
    void (*unit)(const char *name, const struct status_dropin *d, const struct manager *m);
    void (*unknown)(void);
    void (*running)(const struct status_running *r);
    void (*unit_end)(void);
    void (*end)(size_t units, const struct status_beyond *b);
};

extern const struct status_form status_as_text, status_as_json;

#endif
