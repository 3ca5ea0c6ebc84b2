/* SPDX-License-Identifier: MIT
 *
 * The report for programs.  unstall(1) describes the members.
 */
#include "explain.h"

static double ms(int64_t ns) {
    return (double)ns / MS;
}

static void examples(struct json *j, const struct findings *f, const struct finding *r) {
    static const char *const names[2][3] = {
        {"beginning", "acknowledgement", "rest"},
        {"first_write", "second_write", "input"},
    };
    json_array(j, "examples");
    for (uint32_t i = 0; i < EXAMPLES && i < r->waits.count; i++) {
        const struct finding_example *e = &r->examples[i];
        if (e->number[0] == 0)
            continue;
        json_object(j, NULL);
        json_string(j, "from", e->from);
        json_string(j, "to", e->to);
        for (int k = 0; k < 3; k++) {
            json_object(j, names[f->source == SOURCE_STRACE][k]);
            json_unsigned(j, f->source == SOURCE_STRACE ? "line" : "packet", e->number[k]);
            json_real(j, "at_ms", ms(e->at_ns[k] - f->from_ns));
            if (f->source == SOURCE_STRACE && k < 2)
                json_string(j, "place", e->place[k][0] ? e->place[k] : NULL);
            json_object_end(j);
        }
        json_unsigned(j, "first_bytes", e->bytes[0]);
        json_unsigned(j, "rest_bytes", e->bytes[1]);
        json_object_end(j);
    }
    json_array_end(j);
}

static void row(struct json *j, const struct findings *f, const struct finding *r) {
    json_object(j, NULL);
    json_string(j, "writer", r->writer);
    json_string(j, "side", r->by_server ? "server" : "client");
    json_string(j, "service", r->service);
    json_bool(j, "one_way", r->verdict == STALL_ONE_WAY);
    json_unsigned(j, "connections", r->connections);
    json_unsigned(j, "messages", r->messages);
    json_unsigned(j, "stalls", r->waits.count);
    json_bool(j, "bound", r->bound);
    json_real(j, "total_ms", ms(r->waits.sum_ns));
    json_real(j, "median_ms", ms(waits_quantile(&r->waits, 0.5)));
    json_real(j, "least_ms", ms(r->waits.min_ns));
    json_real(j, "most_ms", ms(r->waits.max_ns));
    if (f->source == SOURCE_STRACE)
        json_string(j, "evidence", r->evidence);
    examples(j, f, r);
    json_object_end(j);
}

/* ---- for a page ------------------------------------------------------ */

static void cure(struct json *j, const struct finding *r) {
    char text[NOTE_TEXT + 64];
    json_object(j, "cure");
    json_string(j, "where", findings_cure_where(r, text));
    json_string(j, "command", findings_cure(r, text));
    json_string(j, "other_side", findings_other_side(r));
    json_array(j, "there");
    for (int i = 0; i < CURES_THERE; i++)
        json_string(j, NULL, findings_cure_there(r, i));
    json_array_end(j);
    json_string(j, "places", findings_places(r, text, sizeof(text)) ? text : NULL);
    snprintf(text, sizeof(text), "unstall observe -- %s", r->command[0] ? r->command : "PROGRAM");
    json_string(j, "observe", text);
    json_object_end(j);
}

static void ladders(struct json *j, const struct findings *f, const struct finding *r) {
    const uint64_t *number = r->examples[0].number;
    struct ladder stalled = explain_ladder(f, r), cured = explain_ladder_cured(f, r);
    char text[NOTE_TEXT];
    snprintf(text, sizeof(text), "As recorded: %s %lu, %lu and %lu of the file.",
             f->source == SOURCE_CAPTURE ? "packets" : "lines", (unsigned long)number[0],
             (unsigned long)number[1], (unsigned long)number[2]);
    json_array(j, "ladders");
    ladder_json(j, &stalled, text);
    ladder_json(j, &cured, explain_ladder_caption(f, r, text));
    json_array_end(j);
}

static void counts(struct json *j, const char *key, const uint32_t *counts, size_t parts) {
    json_array(j, key);
    j->compact++;
    for (size_t i = 0; i < parts; i++)
        json_unsigned(j, NULL, counts[i]);
    json_array_end(j);
    j->compact--;
}

static void when(struct json *j, const struct findings *f, const struct timeline *t) {
    size_t parts = timeline_used(t);
    int64_t whole = (int64_t)parts * t->part_ns;
    int64_t rest = f->until_ns - t->first * t->part_ns; /* the recording may end in the last part */
    json_object(j, "timeline");
    json_real(j, "part_ms", (double)t->part_ns / MS);
    json_real(j, "whole_ms", (double)(rest > whole - t->part_ns && rest < whole ? rest : whole) / MS);
    counts(j, "stalled", t->stalled, parts);
    counts(j, "other", t->other, parts);
    json_object_end(j);
}

/* The members of that which a page shows beside the numbers, of the heaviest sender; none where nothing
 * stalls.  src/pages draws it. */
static void words(struct json *j, const struct findings *f) {
    if (findings_count(f, STALL_FOUND, NULL) == 0)
        return;
    const struct finding *worst = &f->rows[0];
    cure(j, worst);
    ladders(j, f, worst);
    when(j, f, &worst->when);
    json_array(j, "bins");
    for (int i = 0; i < WAITS_BUCKETS; i++)
        json_bin(j, waits_bound(i), waits_bound(i + 1), worst->waits.bucket[i]);
    json_array_end(j);
}

/* ---- all ------------------------------------------------------------- */

void explain_json(struct json *j, const char *name, const struct findings *f) {
    const struct verdict verdict = findings_verdict(f);
    char sentence[2 * NOTE_TEXT];
    int64_t total;
    findings_sentence(f, sentence, sizeof(sentence));
    json_document(j, "explain");
    json_string(j, "file", name);
    json_string(j, "kind", f->source == SOURCE_CAPTURE ? "capture" : "strace");
    json_object(j, "verdict");
    verdict_json(j, &verdict, sentence);
    json_bool(j, "likely", verdict.stalls && f->source == SOURCE_STRACE);
    json_object_end(j);
    json_unsigned(j, f->source == SOURCE_CAPTURE ? "packets" : "lines", f->entries);
    json_unsigned(j, f->source == SOURCE_CAPTURE ? "segments" : "calls", f->understood);
    json_unsigned(j, "connections", f->connections);
    json_real(j, "duration_ms", ms(f->until_ns - f->from_ns));
    json_unsigned(j, "stalls", findings_count(f, STALL_FOUND, &total));
    json_real(j, "total_ms", ms(total));
    json_array(j, "writers");
    for (uint32_t i = 0; i < f->row_count; i++)
        row(j, f, &f->rows[i]);
    json_array_end(j);
    json_array(j, "notes");
    for (int i = 0; i < f->note_count; i++)
        json_string(j, NULL, f->notes[i]);
    json_array_end(j);
    json_string(j, "error", f->stopped[0] ? f->stopped : NULL);
    words(j, f);
    json_object_end(j);
}
