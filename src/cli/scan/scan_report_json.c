/* SPDX-License-Identifier: MIT */
#include "format.h"
#include "sites.h"
#include "stats_names.h"
#include "survey.h"

#define MS_OF(ns) ((double)(ns) / 1e6)

static void process(struct json *j, const char *key, const struct scan_process *p) {
    if (p->pid == 0) {
        json_null(j, key);
        return;
    }
    json_object(j, key);
    json_signed(j, "pid", p->pid);
    json_string(j, "program", p->program[0] ? p->program : NULL);
    json_string(j, "command", p->command[0] ? p->command : NULL);
    json_string(j, "cgroup", p->cgroup[0] ? p->cgroup : NULL);
    json_string(j, "unit", p->unit[0] ? p->unit : NULL);
    json_string(j, "container", p->container[0] ? p->container : NULL);
    json_object_end(j);
}

static void estimate(struct json *j, const struct scan_estimate *e, double seconds) {
    double scale = e->count > 0 ? e->lost_ns / e->count : 0;
    json_real(j, "stalls", e->count);
    json_real(j, "stalls_low", e->low);
    json_real(j, "stalls_high", e->high);
    json_unsigned(j, "stalls_seen", e->seen);
    json_real(j, "stalls_per_second", seconds > 0 ? e->count / seconds : 0);
    json_real(j, "lost_ms", MS_OF(e->lost_ns));
    json_real(j, "lost_low_ms", MS_OF(scale * e->low));
    json_real(j, "lost_high_ms", MS_OF(scale * e->high));
    json_real(j, "mean_ms", MS_OF(scale));
}

static void row(struct json *j, const struct scan_row *r, double seconds) {
    char text[ENDPOINT_ROOM];
    json_object(j, NULL);
    process(j, "process", &r->process);
    json_unsigned(j, "user", r->uid);
    json_string(j, "thread", r->thread[0] ? r->thread : NULL);
    json_string(j, "role", r->listens ? "listener" : "destination");
    json_string(j, "endpoint", address_text(&r->endpoint, text));
    json_unsigned(j, "connections", r->connections);
    estimate(j, &r->stalls, seconds);
    json_bool(j, "receiver_on_this_host", r->peer_local);
    process(j, "receiver", &r->peer);
    json_object_end(j);
}

static void rows(struct json *j, const char *key, const struct scan_table *t, bool one_way,
                 double seconds) {
    json_array(j, key);
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].one_way == one_way)
            row(j, &t->rows[i], seconds);
    json_array_end(j);
}

static void places(struct json *j, const struct stats_files *s) {
    char text[STATS_PATH];
    json_array(j, "places");
    for (size_t i = 0; s && i < s->count; i++) {
        const struct reader_file *r = s->list[i];
        if (!r->pattern_count)
            continue;
        json_object(j, NULL);
        json_unsigned(j, "pid", r->header.pid);
        json_string(j, "program", base_text(r->header.program, text, sizeof(text)));
        sites_json(j, r);
        json_object_end(j);
    }
    json_array_end(j);
}

static void verdict(struct json *j, const struct survey *s) {
    struct prose p = {.used = 0};
    scan_sentence(&p, s, false);
    json_object(j, "verdict");
    verdict_json(j, &s->verdict, p.text);
    json_array(j, "notes");
    if (scan_note(s))
        json_string(j, NULL, scan_note(s));
    json_array_end(j);
    json_object_end(j);
}

/* How the scan was made, in words, and the next command to type. */
static void words(struct json *j, const struct survey *s) {
    const struct scan_table *t = &s->table;
    struct prose p = {.used = 0}, next = {.used = 0};
    scan_report_head(&p, s, false);
    json_string(j, "how", p.text);
    json_string(j, "next", t->count > t->one_way && scan_next(&next, t) ? next.text : NULL);
}

void scan_report_json(FILE *out, const struct survey *s) {
    const struct scan_result *r = &s->result;
    double seconds = (double)(r->ended_ns - r->began_ns) / 1e9;
    struct json j = json_begin(out);
    json_document(&j, "scan");
    verdict(&j, s);
    words(&j, s);
    json_string(&j, "scope", s->scope);
    json_string(&j, "source", scan_kind_name(r->kind));
    json_string(&j, "not_exact", s->not_exact[0] ? s->not_exact : NULL);
    json_real(&j, "seconds", seconds);
    json_unsigned(&j, "sockets", r->sockets);
    json_unsigned(&j, "dumps", r->dumps);
    json_real(&j, "dump_every_ms", MS_OF(r->dump_every_ns));
    json_real(&j, "share_of_a_core", r->share);
    json_unsigned(&j, "lost_events", r->lost);
    json_unsigned(&j, "unwatched", r->unwatched);
    json_object(&j, "all");
    estimate(&j, &s->table.all, seconds);
    json_object_end(&j);
    rows(&j, "rows", &s->table, false, seconds);
    rows(&j, "one_way", &s->table, true, seconds);
    places(&j, s->places);
    json_object_end(&j);
    json_end(&j);
}
