/* SPDX-License-Identifier: MIT */
#include "report_facts.h"
#include "counters.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"

uint64_t ran_ns(const struct reader_file *r) {
    const struct stats_header *h = &r->header;
    uint64_t end = r->life == LIFE_ENDED ? h->ended_monotonic_ns : r->taken_ns;
    uint64_t began = h->loaded_monotonic_ns ? h->loaded_monotonic_ns : h->started_monotonic_ns;
    return end > began ? end - began : 0;
}

/* Adds the start of one process, taken from its first connection.  A start much shorter than the time spent
 * waiting for answers does not count. */
static void add_start(struct report_start *start, const struct reader_file *r) {
    const struct stats_connection *first = NULL;
    uint64_t waited = 0, loaded = r->header.loaded_monotonic_ns;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct reader_row *row = &r->rows[i];
        if (row->id.role != ROLE_DESTINATION)
            continue;
        waited += row->tally.counter[COUNT_EXCHANGE_NS];
        for (size_t k = 0; k < r->connection_count; k++) {
            const struct stats_connection *c = &r->connections[k];
            if (c->row == row->index && c->first_write_us != UINT32_MAX &&
                (!first || c->opened_ns < first->opened_ns))
                first = c;
        }
    }
    if (!first || !loaded || first->opened_ns < loaded)
        return;
    uint64_t connected = first->opened_ns - loaded;
    uint64_t written = connected + first->first_write_us * UINT64_C(1000);
    if (written < waited / 4)
        return;
    start->waited_ns += waited;
    start->connected_ns += connected;
    start->written_ns += written;
    start->processes++;
}

struct report_start start_of(const struct stats_files *s) {
    struct report_start start = {0};
    for (size_t i = 0; i < s->count; i++)
        add_start(&start, s->list[i]);
    return start;
}

const struct reader_row *row_in(const struct reader_file *f, const struct reader_row *merged) {
    for (size_t i = 0; i < f->row_count; i++)
        if (stats_same_row(&f->rows[i].id, &merged->id))
            return &f->rows[i];
    return NULL;
}

/* The rows of an experiment have the modes of its arms. */
bool is_past(const struct stats_files *s, const struct reader_row *row, unsigned *least, unsigned *most) {
    *least = UINT_MAX;
    *most = 0;
    for (size_t i = 0; i < s->count; i++) {
        unsigned mode = s->list[i]->header.mode;
        if (!row_in(s->list[i], row))
            continue;
        if (row->id.arm != 0xff || mode == row->id.mode)
            return false;
        *least = mode < *least ? mode : *least;
        *most = mode > *most ? mode : *most;
    }
    return true;
}

bool modes_differ(const struct report *r) {
    unsigned mode = r->files->list[0]->header.mode;
    for (size_t i = 1; i < r->files->count; i++)
        if (r->files->list[i]->header.mode != mode)
            return true;
    for (size_t i = 0; i < r->row_count; i++)
        if (is_used(&r->rows[i]) && r->rows[i].id.arm == 0xff && r->rows[i].id.mode != mode)
            return true;
    return false;
}

size_t programs_text(const struct stats_files *s, const struct reader_row *row, char text[PROGRAMS_ROOM]) {
    char first[48] = "", other[48];
    size_t processes = 0, programs = 0;
    uint32_t pid = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct reader_row *own = row ? row_in(s->list[i], row) : NULL;
        if (row && (!own || !proved_stalls(&own->tally)))
            continue;
        base_text(s->list[i]->header.program, other, sizeof(other));
        if (processes++ == 0) {
            memcpy(first, other, sizeof(first));
            pid = s->list[i]->header.pid;
            programs = 1;
        } else if (strcmp(first, other) != 0) {
            programs = 2;
        }
    }
    if (processes == 0)
        snprintf(text, PROGRAMS_ROOM, "no process");
    else if (processes == 1)
        snprintf(text, PROGRAMS_ROOM, "%s (pid %u)", first, pid);
    else
        snprintf(text, PROGRAMS_ROOM, "%s%s (%zu processes)", first, programs > 1 ? " and others" : "",
                 processes);
    return programs;
}

static int by_loss(const void *a, const void *b) {
    const struct reader_row *x = *(const struct reader_row *const *)a;
    const struct reader_row *y = *(const struct reader_row *const *)b;
    if (lost_ns(&x->tally) != lost_ns(&y->tally))
        return lost_ns(&x->tally) > lost_ns(&y->tally) ? -1 : 1;
    uint64_t n = x->tally.counter[COUNT_EXCHANGES], m = y->tally.counter[COUNT_EXCHANGES];
    if (n != m)
        return n > m ? -1 : 1;
    return x < y ? -1 : x > y; /* keep the order */
}

const struct reader_row **report_rows(const struct report *r, size_t *count) {
    const struct reader_row **rows = calloc(r->row_count + 1, sizeof(struct reader_row *));
    *count = 0;
    for (size_t i = 0; rows && i < r->row_count; i++)
        if (is_used(&r->rows[i]))
            rows[(*count)++] = &r->rows[i];
    if (rows)
        qsort(rows, *count, sizeof(struct reader_row *), by_loss);
    return rows;
}

void report_who(struct prose *p, const struct report *r, bool unnamed) {
    if (r->who)
        who_prose(p, r->who);
    const struct reader_file *worst = unnamed ? report_heaviest(r->files, r->verdict->row) : NULL;
    for (size_t i = 0; worst && !r->who && i <= r->files->count; i++) {
        const struct reader_file *f = i ? r->files->list[i - 1] : worst;
        struct prose target = {.used = 0};
        if (f->life == LIFE_RUNS)
            prose_add(&target, " %u", f->header.pid);
        else
            report_program(&target, r, f);
        if (who_advice(p, f->header.program, target.text))
            return;
    }
}

unsigned report_losses(const struct stats_files *s, struct prose p[REPORT_LOSSES]) {
    unsigned long long connections = 0, rows = 0, oddities = 0;
    unsigned count = 0;
    for (size_t i = 0; i < s->count; i++) {
        connections += s->list[i]->header.lost_connections;
        rows += s->list[i]->header.lost_rows;
        oddities += s->list[i]->oddities;
    }
    for (unsigned i = 0; i < REPORT_LOSSES; i++)
        p[i].used = 0;
    if (rows)
        prose_add(&p[count++], "%llu endpoint%s counted as other", rows,
                  rows == 1 ? " found no free row and is" : "s found no free row and are");
    if (connections)
        prose_add(&p[count++], "%llu connection%s no record: too many at once", connections,
                  connections == 1 ? " has" : "s have");
    if (oddities)
        prose_add(&p[count++], "%llu %s left out: the file is damaged", oddities,
                  oddities == 1 ? "entry is invalid and was" : "entries are invalid and were");
    return count;
}
