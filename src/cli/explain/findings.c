/* SPDX-License-Identifier: MIT */
#include "findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool findings_make(struct findings *f) {
    *f = (struct findings){.source = SOURCE_CAPTURE};
    f->rows = calloc(FINDINGS + STALL_VERDICTS, sizeof(*f->rows));
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
    struct finding *rest = &f->rows[FINDINGS + like->verdict];
    f->others[like->verdict] = true;
    rest->verdict = like->verdict;
    snprintf(rest->writer, sizeof(rest->writer), "others");
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
    for (int verdict = 0; verdict < STALL_VERDICTS; verdict++)
        if (f->others[verdict])
            f->rows[f->row_count++] = f->rows[FINDINGS + verdict];
}

bool findings_none(const struct findings *f) {
    return f->entries == 0 && f->stopped[0];
}

uint64_t findings_count(const struct findings *f, enum stall_verdict verdict, int64_t *total_ns) {
    uint64_t count = 0;
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < f->row_count; i++)
        if (f->rows[i].verdict == verdict) {
            count += f->rows[i].waits.count;
            sum_ns += f->rows[i].waits.sum_ns;
        }
    if (total_ns)
        *total_ns = sum_ns;
    return count;
}

/* ---- the cure -------------------------------------------------------- */

const char *findings_cure_where(const struct finding *r, char text[NOTE_TEXT]) {
    if (r->by_server)
        snprintf(text, NOTE_TEXT, "run the server%s%s under unstall", r->port ? " " : "",
                 r->port ? r->service : "");
    else if (r->writer_host[0])
        snprintf(text, NOTE_TEXT, "on %s, run the client under unstall", r->writer_host);
    else
        snprintf(text, NOTE_TEXT, "run it under unstall");
    return text;
}

const char *findings_cure(const struct finding *r, char text[NOTE_TEXT]) {
    snprintf(text, NOTE_TEXT, "unstall run -- %s",
             r->command[0]  ? r->command
             : r->by_server ? "SERVER"
                            : "PROGRAM");
    return text;
}

bool findings_places(const struct finding *r, char *text, size_t size) {
    const struct finding_example *e = &r->examples[0];
    if (!e->place[0][0] || !e->place[1][0])
        return false;
    if (strcmp(e->place[0], e->place[1]) == 0)
        snprintf(text, size, "Both pieces are written by %s.", e->place[0]);
    else
        snprintf(text, size, "The first piece is written by %s, the second by %s.", e->place[0],
                 e->place[1]);
    return true;
}

const char *findings_other_side(const struct finding *r) {
    return r->by_server ? "the clients" : r->port ? r->service : "the server";
}

const char *findings_cure_there(const struct finding *r, int which) {
    if (which == 0)
        return r->by_server ? "unstall run --quickack auto -- CLIENT"
                            : "unstall run --quickack auto -- SERVER";
    return "ip route change ROUTE quickack 1    # ROUTE as `ip route show` has it";
}

/* ---- the verdict ----------------------------------------------------- */

static unsigned long lu(uint64_t n) {
    return (unsigned long)n;
}

static void stalls_sentence(const struct findings *f, char *text, size_t size) {
    int64_t total;
    uint64_t n = findings_count(f, STALL_FOUND, &total);
    const struct finding *worst = &f->rows[0];
    char each[24], sum[24];
    duration_text(waits_quantile(&worst->waits, 0.5), each);
    duration_text(total, sum);
    bool named = strcmp(worst->writer, worst->service) == 0; /* a server in a capture */
    const char *likely = f->source == SOURCE_STRACE ? "Likely " : "";
    int used = n == 1 ? snprintf(text, size, "%s1 stall of %s", likely, sum)
                      : snprintf(text, size, "%s%lu stalls of %s%s cost %s", likely, lu(n),
                                 f->row_count > 1 ? "mostly " : "", each, sum);
    if (used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ": %s writes its %s%s%s in pieces%s.",
                 worst->writer, worst->by_server ? "answers" : "requests",
                 named              ? ""
                 : worst->by_server ? " on "
                                    : " to ",
                 named ? "" : worst->service, f->row_count > 1 ? ", and others do the same" : "");
}

struct verdict findings_verdict(const struct findings *f) {
    struct verdict v = {
        .stalls = findings_count(f, STALL_FOUND, NULL), .exchanges = f->exchanges, .firsts = f->firsts};
    if (findings_none(f))
        verdict_because(&v, "the file was not read");
    else if (f->entries == 0)
        verdict_because(&v, "there is no packet in this capture. Was it made on the right interface "
                            "(tcpdump -i any), for the right port, and while the programs talked?");
    else if (f->because[0])
        verdict_because(&v, "%s", f->because);
    else if (f->source == SOURCE_CAPTURE ? f->understood == 0 : f->connections == 0)
        verdict_because(&v, f->source == SOURCE_CAPTURE ? "there is no TCP in this capture"
                                                        : "there is no call on a TCP connection");
    return v;
}

static void no_stall(const struct findings *f, const struct verdict *v, char *text, size_t size) {
    struct prose p = {.used = 0};
    int64_t total;
    char sum[24];
    uint64_t one_way = findings_count(f, STALL_ONE_WAY, &total);
    verdict_words(&p, v, "");
    if (one_way)
        prose_add(&p, "; %lu wait%s (%s) in streams that are never answered", lu(one_way),
                  one_way == 1 ? "" : "s", duration_text(total, sum));
    else if (verdict_of(v) == VERDICT_NONE)
        prose_add(&p, ": %s",
                  f->source == SOURCE_CAPTURE
                      ? "no small segment waited for a delayed acknowledgement"
                      : "no wait of a delayed acknowledgement's length after small writes in a row");
    snprintf(text, size, "%s%s", p.text, p.text[p.used - 1] == '?' ? "" : ".");
}

void findings_sentence(const struct findings *f, char *text, size_t size) {
    struct verdict v = findings_verdict(f);
    if (v.stalls)
        stalls_sentence(f, text, size);
    else
        no_stall(f, &v, text, size);
}
