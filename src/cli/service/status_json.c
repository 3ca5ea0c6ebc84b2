/* SPDX-License-Identifier: MIT
 *
 * unstall status for programs.  unstall(1) documents the form.
 */
#include <stdio.h>

#include "json.h"
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
    if (r->verdict) {
        json_object(&j, "verdict");
        json_string(&j, "kind", verdict_name(verdict_of(&r->verdict->is)));
        json_string(&j, "sentence", r->verdict->sentence.text);
        json_object_end(&j);
    } else {
        json_null(&j, "verdict");
    }
    json_object_end(&j);
}

static void unit_end(void) {
    if (known)
        json_array_end(&j);
    json_object_end(&j);
}

static void attached(const struct status_attached *a) {
    json_array(&j, "attached");
    for (size_t i = 0; i < a->count; i++) {
        const struct attach_config *c = &a->list[i].config;
        json_object(&j, NULL);
        json_string(&j, "name", a->list[i].name);
        json_string(&j, "target", a->list[i].known ? c->target : NULL);
        json_unsigned(&j, "since", c->began_ns / 1000000000);
        json_unsigned(&j, "cured", c->cured);
        json_object_end(&j);
    }
    json_array_end(&j);
}

static void end(size_t units, const struct status_attached *a) {
    (void)units;
    json_array_end(&j);
    if (a && !a->unknown)
        attached(a);
    else if (a)
        json_null(&j, "attached");
    json_object_end(&j);
    json_end(&j);
}

const struct status_form status_as_json = {begin, unit, unknown, running, unit_end, end};
