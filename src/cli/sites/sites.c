/* SPDX-License-Identifier: MIT */
#include "sites_parts.h"

#include <string.h>

#include "format.h"

const struct stats_occurrence *site_occurrence(const struct stats_pattern *p) {
    for (unsigned i = 0; i < STATS_OCCURRENCES; i++)
        if (p->occurrence[i].state == STATS_VALID)
            return &p->occurrence[i];
    return NULL;
}

/* True if the trace contains the return address that the library has noted.  Otherwise a module's file has
 * changed since: its unwind tables do not fit, and the frames are wrong. */
static bool passes(const struct trace *t, uint64_t caller) {
    for (unsigned i = 0; i < t->count; i++)
        if (t->frame[i].pc + 1 == caller)
            return true;
    return false;
}

void site_name(struct symbols *s, const struct reader_file *r, const struct stats_pattern *p,
               const struct stats_occurrence *o, struct site *site) {
    memset(site, 0, sizeof(*site));
    base_text(r->header.program, site->program, sizeof(site->program));
    for (unsigned k = 0; k < 2; k++) {
        if (o) {
            symbols_trace(s, &o->write[k], &site->trace[k]);
            site->bytes[k] = o->write[k].bytes;
        }
        if (!passes(&site->trace[k], p->caller[k]))
            symbols_caller(s, p->caller[k], &site->trace[k]);
    }
}

/* A runtime compiles one function several times, so that its code has several addresses. */
static bool is_same_code(const struct frame *a, const struct frame *b) {
    if (a->kind == FRAME_SCRIPT && b->kind == FRAME_SCRIPT)
        return a->line == b->line && strcmp(a->function, b->function) == 0 &&
               strcmp(a->source, b->source) == 0;
    return a->pc == b->pc;
}

int site_author(const struct site *site) {
    const struct trace *a = &site->trace[0], *b = &site->trace[1];
    for (unsigned i = 0; i < a->count && i < b->count; i++)
        if (!is_same_code(&a->frame[i], &b->frame[i]))
            return (int)i;
    return -1;
}

unsigned site_frame(const struct site *site, unsigned which, unsigned author) {
    const struct trace *t = &site->trace[which];
    unsigned at = author;
    while (at < t->count && (t->frame[at].kind == FRAME_INTERPRETER || t->frame[at].kind == FRAME_NO_MODULE))
        at++;
    return at < t->count && t->frame[at].kind == FRAME_SCRIPT ? at : author;
}

const struct frame *site_program(const struct trace *t, unsigned author) {
    const struct frame *f = &t->frame[author];
    if (f->kind != FRAME_LIBRARY && !f->of_runtime)
        return NULL;
    for (unsigned i = author + 1; i < t->count; i++)
        if (t->frame[i].kind == FRAME_PROGRAM ||
            (t->frame[i].kind == FRAME_SCRIPT && !t->frame[i].of_runtime))
            return &t->frame[i];
    return NULL;
}

bool site_is_at(const struct reader_file *r, const struct stats_pattern *p,
                const struct stats_row *endpoint) {
    const struct reader_row *row = endpoint ? reader_row_at(r, p->row) : NULL;
    return !endpoint || (row && row->id.role == endpoint->role &&
                         memcmp(&row->id.endpoint, &endpoint->endpoint, sizeof(endpoint->endpoint)) == 0);
}

void sites_pieces(const struct stats_files *s, const struct stats_row *endpoint, uint64_t bytes[2]) {
    uint64_t most = 0;
    bytes[0] = bytes[1] = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->list[i]->pattern_count; k++) {
            const struct stats_pattern *p = &s->list[i]->patterns[k];
            const struct stats_occurrence *o = site_occurrence(p);
            if (!o || p->stall_ns < most || !site_is_at(s->list[i], p, endpoint))
                continue;
            most = p->stall_ns;
            bytes[0] = o->write[0].bytes;
            bytes[1] = o->write[1].bytes;
        }
}
