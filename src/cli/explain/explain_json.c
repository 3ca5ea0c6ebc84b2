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
    explain_words(j, f);
    json_object_end(j);
}
