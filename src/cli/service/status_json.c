/* SPDX-License-Identifier: MIT
 *
 * unstall status for programs.  unstall(1) documents the form.
 */
#include "process_stat.h"
#include "status_parts.h"

static struct json j;
static bool known; /* the array "running" is open */

static void begin(void) {
    j = json_begin(stdout);
    json_document(&j, "status");
    json_array(&j, "units");
}

static void unit(const char *name, const struct status_dropin *d, const struct manager *m) {
    json_object(&j, NULL);
    json_string(&j, "unit", name);
    json_bool(&j, "user", m->user);
    if (d->there) {
        json_object(&j, "drop_in");
        json_string(&j, "path", d->path);
        json_string(&j, "mode", d->mode);
        json_bool(&j, "changed", d->changed);
        json_signed(&j, "since", d->since);
        json_object_end(&j);
    } else {
        json_null(&j, "drop_in");
    }
    known = manager_runs(m);
    if (known)
        json_array(&j, "running");
}

static void unknown(void) {
    json_null(&j, "running");
}

static const char *or_null(const char *text) {
    return text[0] ? text : NULL;
}

/* null: there are no statistics, or stalls are not looked for. */
static void statistics(const struct status_processes *p, const struct report_verdict *v) {
    struct status_sums sums;
    bool some = status_sums(&p->files, &sums);
    json_unsigned_if(&j, "exchanges", sums.exchanges, some);
    json_unsigned_if(&j, "stalls", sums.stalls, some && sums.looked);
    if (!v) {
        json_null(&j, "verdict");
        return;
    }
    json_object(&j, "verdict");
    json_string(&j, "kind", verdict_name(verdict_of(&v->is)));
    json_string(&j, "sentence", v->sentence.text);
    json_object_end(&j);
}

static void running(const struct status_running *r) {
    const struct status_processes *p = r->processes;
    json_object(&j, NULL);
    json_string(&j, "unit", r->name);
    json_string(&j, "state", or_null(r->state));
    json_string(&j, "since", or_null(r->since));
    json_unsigned(&j, "processes", p->count);
    json_unsigned(&j, "with_library", p->with);
    json_unsigned(&j, "not_inspected", p->unknown);
    json_string(&j, "mode", or_null(p->mode));
    statistics(p, r->verdict);
    json_object_end(&j);
}

static void unit_end(void) {
    if (known)
        json_array_end(&j);
    json_object_end(&j);
}

static uint64_t seconds(uint64_t start) {
    return process_began_ns(start) / 1000000000;
}

static void group(const struct status_group *g) {
    json_object(&j, NULL);
    json_string(&j, "program", or_null(g->program));
    if (g->guard)
        json_signed(&j, "supervisor", g->guard);
    json_array(&j, "pids");
    for (size_t i = 0; i < g->processes.count; i++)
        json_signed(&j, NULL, g->pids[i]);
    json_array_end(&j);
    json_string(&j, "mode", or_null(g->processes.mode));
    json_unsigned(&j, "since", seconds(g->start));
    statistics(&g->processes, status_judge(&g->processes));
    json_object_end(&j);
}

static void groups(const char *name, const struct status_beyond *b, bool supervised) {
    json_array(&j, name);
    for (size_t i = 0; i < b->group_count; i++)
        if (supervised == (b->groups[i].guard != 0))
            group(&b->groups[i]);
    json_array_end(&j);
}

static void attached(const struct status_beyond *b) {
    if (b->unknown) {
        json_null(&j, "attached");
        return;
    }
    json_array(&j, "attached");
    for (size_t i = 0; i < b->attached_count; i++) {
        const struct attach_config *c = &b->attached[i].config;
        bool ours = b->attached[i].known;
        json_object(&j, NULL);
        json_string(&j, "name", b->attached[i].name);
        json_string(&j, "target", ours ? c->target : NULL);
        json_string(&j, "mode", ours ? attach_mode_name(c) : NULL);
        json_unsigned(&j, "since", c->began_ns / 1000000000);
        json_unsigned(&j, "cured", c->cured);
        json_object_end(&j);
    }
    json_array_end(&j);
}

static void fetching(const struct status_beyond *b) {
    json_array(&j, "attached_unprivileged");
    for (size_t i = 0; i < b->fetching_count; i++) {
        json_object(&j, NULL);
        json_signed(&j, "command", b->fetching[i].command);
        json_signed(&j, "pid", b->fetching[i].target);
        json_unsigned(&j, "since", seconds(b->fetching[i].start));
        json_object_end(&j);
    }
    json_array_end(&j);
}

static void end(size_t units, const struct status_beyond *b) {
    (void)units;
    json_array_end(&j);
    if (b) {
        groups("processes", b, false);
        groups("supervised", b, true);
        attached(b);
        fetching(b);
        json_unsigned(&j, "not_inspected", b->unknown_processes);
    }
    json_object_end(&j);
    json_end(&j);
}

const struct status_form status_as_json = {begin, unit, unknown, running, unit_end, end};
