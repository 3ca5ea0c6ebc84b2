/* SPDX-License-Identifier: MIT
 *
 * The findings of `unstall status`, and their two forms: text and JSON.
 */
#ifndef UNSTALL_CLI_STATUS_PARTS_H
#define UNSTALL_CLI_STATUS_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "attach.h"
#include "dropin.h"
#include "stats_files.h"
#include "unit.h"
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

/* What is cured without a drop-in, by `unstall attach` or in a cgroup of `unstall run`. */
struct status_attached {
    struct attach_state *list;
    size_t count;
    const char *unknown; /* the reason why they are not known; NULL: they are */
};

/* Called in this order for each unit: unit, then running for each that systemd knows (or unknown, if
 * systemd does not run), then unit_end.  The last one gets NULL where a unit was asked for. */
struct status_form {
    void (*begin)(void);
    void (*unit)(const char *name, const struct status_dropin *d, const struct manager *m);
    void (*unknown)(void);
    void (*running)(const struct status_running *r);
    void (*unit_end)(void);
    void (*end)(size_t units, const struct status_attached *a);
};

extern const struct status_form status_as_text, status_as_json;

#endif
