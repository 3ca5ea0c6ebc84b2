/* SPDX-License-Identifier: MIT */
#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool findings_make(struct findings *f, enum source source) {
    *f = (struct findings){.source = source};
    f->rows = calloc(FINDINGS + 1, sizeof(*f->rows));
    return f->rows != NULL;
}

void findings_free(struct findings *f) {
    free(f->rows);
    f->rows = NULL;
}

static bool same_row(const struct finding *a, const struct finding *b) {
    return a->verdict == b->verdict && a->by_server == b->by_server &&
           strcmp(a->writer, b->writer) == 0 && strcmp(a->command, b->command) == 0 &&
           strcmp(a->service, b->service) == 0;
}

struct finding *findings_row(struct findings *f, const struct finding *like) {
    for (uint32_t i = 0; i < f->row_count; i++)
        if (same_row(&f->rows[i], like))
            return &f->rows[i];
    if (f->row_count < FINDINGS) {
        struct finding *row = &f->rows[f->row_count++];
        *row = *like;
        return row;
    }
    struct finding *rest = &f->rows[FINDINGS];
    if (f->others++ == 0) {
        *rest = (struct finding){.verdict = like->verdict};
        snprintf(rest->writer, sizeof(rest->writer), "others");
    }
    return rest;
}

void findings_note(struct findings *f, const char *format, ...) {
    if (f->note_count == NOTES)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->notes[f->note_count++], NOTE_TEXT, format, arguments);
    va_end(arguments);
}

static int by_time(const void *a, const void *b) {
    const struct finding *x = a, *y = b;
    if (x->verdict != y->verdict)
        return x->verdict < y->verdict ? -1 : 1;
    return x->waits.sum_ns < y->waits.sum_ns ? 1 : x->waits.sum_ns > y->waits.sum_ns ? -1 : 0;
}

void findings_sort(struct findings *f) {
    qsort(f->rows, f->row_count, sizeof(*f->rows), by_time);
    if (f->others)
        f->rows[f->row_count++] = f->rows[FINDINGS];
}

bool findings_none(const struct findings *f) {
    return f->entries == 0 && f->stopped[0];
}

uint64_t findings_count(const struct findings *f, enum stall_verdict verdict, int64_t *total_ns) {
    uint64_t count = 0;
    *total_ns = 0;
    for (uint32_t i = 0; i < f->row_count; i++) {
        if (f->rows[i].verdict == verdict) {
            count += f->rows[i].waits.count;
            *total_ns += f->rows[i].waits.sum_ns;
        }
    }
    return count;
}
