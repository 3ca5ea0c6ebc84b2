/* SPDX-License-Identifier: MIT
 *
 * `unstall report --json`: everything in a statistics file.  unstall(1) documents the form.
 */
#include "format.h"
#include "ladder.h"
#include "late.h"
#include "report_facts.h"
#include "stats_names.h"

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
        json_histogram(j, "exchange", HISTOGRAM_STEPS, row->tally.exchange);
        json_histogram(j, "answer", HISTOGRAM_STEPS, row->tally.answer);
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
    json_histogram(j, "exchange", COARSE_STEPS, c->exchange);
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

/* ---- what a page shows beside the numbers ----------------------------- */

/* The subject, the next command, a typical exchange as ladders, the distribution of the verdict's endpoint.
 * src/pages draws it. */

enum { QUICK_MOST_NS = LATE_IN_LIBRARY_MS * 1000000 };

/* The exchange of the same endpoint in a mode that cured its stalls, if the files have one; else a
 * prediction. */
static void cured_ladder(struct json *j, const struct reader_row *row, struct ladder l,
                         const uint64_t pieces[2], bool behind) {
    const struct reader_tally *t = &row->tally;
    char text[200] = "Predicted, with unstall: the pieces leave as one segment, at once.";
    char cured[NAME_ROOM], count[NAME_ROOM];
    uint64_t quick[HISTOGRAM_BUCKETS] = {0}, n = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (histogram_lowest(i, HISTOGRAM_STEPS) < QUICK_MOST_NS)
            n += quick[i] = t->exchange[i];
    l.predicted = !t->counter[COUNT_STALLS_CURED] || !n;
    if (!l.predicted) {
        uint64_t ns = reader_quantile(quick, HISTOGRAM_STEPS, 0.5);
        snprintf(text, sizeof(text),
                 "Measured, with unstall: %s stalls were cured; the median of the %s exchanges "
                 "that did not stall.",
                 count_text(t->counter[COUNT_STALLS_CURED], cured), count_text(n, count));
        ladder_add(&l, LADDER_DATA, 0, 0);
        ladder_add(&l, row->id.role == ROLE_LISTENER ? LADDER_NEXT : LADDER_ANSWER, (int64_t)ns, 0);
    } else if (behind) {
        snprintf(text, sizeof(text), "Predicted, with unstall: the second message leaves at once, too.");
        ladder_add(&l, LADDER_DATA, 0, pieces[0]);
        ladder_add(&l, LADDER_DATA, 0, pieces[1]);
    } else {
        ladder_add(&l, LADDER_DATA, 0, pieces[0] && pieces[1] ? pieces[0] + pieces[1] : 0);
    }
    ladder_json(j, &l, text);
}

/* The mean stall of the row, with the pieces of its pair of call sites that lost most. */
static void typical(struct json *j, const struct report *r, const struct reader_row *row, bool behind) {
    uint64_t pieces[2] = {0, 0};
    const struct reader_tally *t = &row->tally;
    char endpoint[ENDPOINT_ROOM];
    sites_pieces(r->files, &row->id, pieces);
    int64_t mean = (int64_t)(lost_ns(t) / proved_stalls(t));
    bool listener = row->id.role == ROLE_LISTENER;
    row_words(&row->id, endpoint);
    struct ladder stalled = {.writer = listener ? endpoint : "the program",
                             .peer = listener ? "a client" : endpoint};
    const struct ladder empty = stalled;
    ladder_add(&stalled, LADDER_DATA, 0, pieces[0]);
    ladder_add(&stalled, LADDER_HELD, 0, pieces[1]);
    ladder_add(&stalled, LADDER_ACK, mean, 0);
    ladder_add(&stalled, LADDER_DATA, mean, pieces[1]);
    ladder_json(j, &stalled,
                "From the means of the statistics: the time of a stall, and the sizes of the "
                "pieces where they were kept.");
    cured_ladder(j, row, empty, pieces, behind);
}

static void distribution(struct json *j, const struct report *r, const struct reader_row *row) {
    char endpoint[ENDPOINT_ROOM], caption[ENDPOINT_ROOM + 80];
    bool modes = modes_differ(r);
    bool listener = row->id.role == ROLE_LISTENER;
    snprintf(caption, sizeof(caption), "%s %s%s%s%s", listener ? "At" : "With",
             row_words(&row->id, endpoint), modes ? " in mode " : "", modes ? mode_name(row->id.mode) : "",
             listener ? ", with the peer's time until it sends again" : "");
    json_object(j, "distribution");
    json_string(j, "caption", caption);
    json_array(j, "bins");
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        json_bin(j, (double)histogram_lowest(i, HISTOGRAM_STEPS),
                 (double)histogram_lowest(i + 1, HISTOGRAM_STEPS), row->tally.exchange[i]);
    json_array_end(j);
    json_object_end(j);
}

static void advice(struct json *j, const struct report *r, bool unnamed) {
    const struct report_verdict *v = r->verdict;
    struct prose next = {.used = 0}, who = {.used = 0};
    const char *source = NULL;
    bool is_next = report_next(&next, r, v);
    if (is_next && v->found == FOUND_STALLS)
        source = v->behind ? "In the source: set TCP_NODELAY. The message that waits is one write: there "
                             "are no pieces to join."
                           : "In the source: send the pieces of a message by one call (a buffer, writev), or "
                             "set TCP_CORK around them, or set TCP_NODELAY.";
    report_who(&who, r, unnamed);
    json_object(j, "advice");
    json_string(j, "next", is_next ? next.text : NULL);
    json_string(j, "source", source);
    json_string(j, "who", who.used ? who.text : NULL);
    json_object_end(j);
}

/* The members that a page shows beside the numbers. */
static void words(struct json *j, const struct report *r, bool unnamed) {
    const struct report_verdict *v = r->verdict;
    char subject[PROGRAMS_ROOM];
    struct prose losses[REPORT_LOSSES];
    programs_text(r->files, v->found == FOUND_STALLS ? v->row : NULL, subject);
    const struct reader_row *row = v->found == FOUND_NOTHING ? NULL : v->row;
    json_string(j, "subject", subject);
    advice(j, r, unnamed);
    json_array(j, "ladders");
    if (row && proved_stalls(&row->tally))
        typical(j, r, row, v->behind);
    json_array_end(j);
    if (row)
        distribution(j, r, row);
    else
        json_null(j, "distribution");
    json_array(j, "gaps");
    unsigned count = report_losses(r->files, losses);
    for (unsigned i = 0; i < count; i++)
        json_string(j, NULL, losses[i].text);
    json_array_end(j);
}

/* ---- all ------------------------------------------------------------- */

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
    words(&j, r, unnamed);
    json_object_end(&j);
    json_end(&j);
}
