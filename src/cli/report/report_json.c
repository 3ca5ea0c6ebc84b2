/* SPDX-License-Identifier: MIT
 *
 * `unstall report --json`: everything in a statistics file.  unstall(1) documents the form.
 */
#include <inttypes.h>
#include <string.h>

#include "counters.h"
#include "format.h"
#include "json.h"
#include "report.h"
#include "report_facts.h"
#include "stats_names.h"
#include "sites.h"

static void histogram(struct json *j, const char *key, const uint64_t *buckets) {
    json_buckets(j, key, HISTOGRAM_STEPS);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        json_bucket(j, i, buckets[i]);
    json_buckets_end(j);
}

static void arm(struct json *j, uint8_t number) {
    if (number == 0xff)
        json_null(j, "arm");
    else
        json_unsigned(j, "arm", number);
}

/* What the table of the report shows of a row.  Null: nothing is known. */
static void summary(struct json *j, const struct reader_row *row) {
    const struct reader_tally *t = &row->tally;
    bool answered = t->counter[COUNT_EXCHANGES] > 0, looked = is_looked_at(row);
    json_unsigned_if(j, "median_ns", reader_quantile(t->exchange, HISTOGRAM_STEPS, 0.5), answered);
    json_unsigned_if(j, "p99_ns", reader_quantile(t->exchange, HISTOGRAM_STEPS, 0.99), answered);
    json_unsigned_if(j, "stalls", proved_stalls(t), looked);
    json_unsigned_if(j, "lost_ns", lost_ns(t), looked);
}

static void json_rows(struct json *j, const struct reader_row *rows, size_t count, bool merged) {
    char text[ENDPOINT_ROOM];
    json_array(j, "rows");
    for (size_t i = 0; i < count; i++) {
        const struct reader_row *row = &rows[i];
        json_object(j, NULL);
        if (!merged)
            json_unsigned(j, "index", row->index);
        json_string(j, "role", role_name(&row->id));
        json_string(j, "endpoint", row_text(&row->id, text));
        arm(j, row->id.arm);
        json_string(j, "mode", mode_name(row->id.mode));
        summary(j, row);
        for (unsigned k = 0; k < STATS_COUNTERS; k++)
            json_unsigned(j, counter_names[k], row->tally.counter[k]);
        histogram(j, "exchange", row->tally.exchange);
        histogram(j, "answer", row->tally.answer);
        json_object_end(j);
    }
    json_array_end(j);
}

static void connection(struct json *j, const struct stats_connection *c) {
    char text[ENDPOINT_ROOM];
    json_object(j, NULL);
    json_unsigned(j, "serial", c->serial);
    json_unsigned(j, "number", c->number);
    json_unsigned(j, "row", c->row);
    arm(j, c->arm);
    json_string(j, "mode", mode_name(c->mode));
    json_unsigned(j, "cookie", c->cookie);
    json_unsigned(j, "opened_ns", c->opened_ns);
    json_unsigned(j, "ended_ns", c->ended_ns);
    json_string(j, "peer", address_text(&c->peer, text));
    json_string(j, "local", address_text(&c->local, text));
    json_unsigned_if(j, "first_write_us", c->first_write_us, c->first_write_us != UINT32_MAX);
    json_unsigned(j, "exchanges", c->exchanges);
    json_unsigned(j, "exchange_ns", c->exchange_ns);
    json_unsigned(j, "exchange_longest_ns", c->exchange_longest_ns);
    json_unsigned(j, "messages", c->messages);
    json_unsigned(j, "bursts", c->bursts);
    json_unsigned(j, "writes", c->writes);
    json_unsigned(j, "bytes", c->bytes);
    json_unsigned(j, "segments", c->segments);
    json_unsigned(j, "stalls_proved", c->stalls_proved);
    json_unsigned(j, "stalls_suspected", c->stalls_suspected);
    json_unsigned(j, "stalls_cured", c->stalls_cured);
    json_unsigned(j, "stall_ns", c->stall_ns);
    json_unsigned(j, "stall_bound_ns", c->stall_bound_ns);
    json_unsigned(j, "peer_stalls", c->peer_stalls);
    json_buckets(j, "exchange", COARSE_STEPS);
    for (unsigned i = 0; i < COARSE_BUCKETS; i++)
        json_bucket(j, i, c->exchange[i]);
    json_buckets_end(j);
    json_object_end(j);
}

static void control(struct json *j, const struct reader_file *r) {
    const struct stats_control *c = &r->control;
    static const char *const ways[] = {
        [ASSIGN_CONNECTION] = "connection", [ASSIGN_PEER] = "peer", [ASSIGN_LISTENER] = "listener"};
    json_object(j, "control");
    json_unsigned(j, "sequence", c->sequence);
    json_bool(j, "adopted", c->sequence == r->header.control_seen);
    json_bool(j, "killed", c->killed != 0);
    json_string(j, "assignment", c->assignment <= ASSIGN_LISTENER ? ways[c->assignment] : NULL);
    json_unsigned(j, "seed", c->seed);
    json_array(j, "arms");
    for (unsigned i = 0; i < c->arm_count; i++) {
        json_object(j, NULL);
        json_string(j, "mode", mode_name(c->arm_mode[i]));
        json_unsigned(j, "weight", c->arm_weight[i]);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static void process(struct json *j, const struct reader_file *r) {
    char date[NAME_ROOM];
    const struct stats_header *h = &r->header;
    json_string(j, "library", h->library);
    json_unsigned(j, "pid", h->pid);
    json_unsigned(j, "parent", h->parent);
    json_string(j, "program", h->program);
    json_string(j, "mode", mode_name(h->mode));
    json_unsigned(j, "window_us", h->window_us);
    json_string(j, "state", life_name(r->life));
    json_string(j, "started", date_text(h->started_ns, date));
    json_unsigned(j, "started_ns", h->started_ns);
    json_unsigned(j, "started_monotonic_ns", h->started_monotonic_ns);
    json_unsigned(j, "loaded_monotonic_ns", h->loaded_monotonic_ns);
    json_unsigned(j, "taken_monotonic_ns", r->taken_ns);
    json_unsigned_if(j, "ran_ns", ran_ns(r), r->life != LIFE_KILLED); /* else its end is not known */
    json_string(j, "stats_file", r->path);
    control(j, r);
}

static void lost(struct json *j, const struct reader_file *r) {
    json_object(j, "lost");
    json_unsigned(j, "connections", r->header.lost_connections);
    json_unsigned(j, "rows", r->header.lost_rows);
    json_unsigned(j, "patterns", r->header.lost_patterns);
    json_unsigned(j, "entries_without_sense", r->oddities);
    json_object_end(j);
}

/* True: as of sites_json(). */
static bool json_stats_file(struct json *j, const struct reader_file *r) {
    process(j, r);
    json_rows(j, r->rows, r->row_count, false);
    json_array(j, "connections");
    for (size_t i = 0; i < r->connection_count; i++)
        connection(j, &r->connections[i]);
    json_array_end(j);
    bool unnamed = sites_json(j, r);
    lost(j, r);
    return unnamed;
}

static void json_verdict(struct json *j, const struct report_verdict *v) {
    char text[ENDPOINT_ROOM];
    json_object(j, "verdict");
    verdict_json(j, &v->is, v->sentence.text);
    json_string(j, "found", report_found_name(v->found));
    json_array(j, "notes");
    for (unsigned i = 0; i < v->note_count; i++)
        json_string(j, NULL, v->note[i].text);
    json_array_end(j);
    json_string(j, "role", v->row ? role_name(&v->row->id) : NULL);
    json_string(j, "endpoint", v->row ? row_text(&v->row->id, text) : NULL);
    json_object_end(j);
}

void report_json(FILE *out, const struct report *r) {
    struct json j = json_begin(out);
    json_document(&j, r->files->folder ? "report-folder" : "report");
    bool unnamed = false;
    json_verdict(&j, r->verdict);
    who_json(&j, r->who);
    if (!r->files->folder) {
        unnamed = json_stats_file(&j, r->files->list[0]);
    } else {
        json_array(&j, "processes");
        for (size_t i = 0; i < r->files->count; i++) {
            json_object(&j, NULL);
            unnamed |= json_stats_file(&j, r->files->list[i]);
            json_object_end(&j);
        }
        json_array_end(&j);
        json_rows(&j, r->rows, r->row_count, true);
    }
    report_words(&j, r, unnamed);
    json_object_end(&j);
    json_end(&j);
}
