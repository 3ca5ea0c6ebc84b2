/* SPDX-License-Identifier: MIT
 *
 * What a page shows beside the numbers, of the heaviest sender: the cure, one exchange as ladders, when it
 * stalled and how long.  src/pages draws it.
 */
#include "explain.h"

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
    j->compact = true;
    for (size_t i = 0; i < parts; i++)
        json_unsigned(j, NULL, counts[i]);
    json_array_end(j);
    j->compact = false;
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

void explain_words(struct json *j, const struct findings *f) {
    int64_t total;
    if (findings_count(f, STALL_FOUND, &total) == 0)
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
