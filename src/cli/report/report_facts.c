/* SPDX-License-Identifier: MIT */
#include "report_facts.h"

#include <stdlib.h>
#include <string.h>

#include "stats_names.h"
#include "format.h"
#include "process_facts.h"

/* ---- facts that both forms state ------------------------------------- */

uint64_t ran_ns(const struct reader_file *r) {
    const struct stats_header *h = &r->header;
    uint64_t end = r->life == LIFE_ENDED ? h->ended_monotonic_ns : r->taken_ns;
    uint64_t began = h->loaded_monotonic_ns ? h->loaded_monotonic_ns : h->started_monotonic_ns;
    return end > began ? end - began : 0;
}

const struct reader_row *row_in(const struct reader_file *f, const struct reader_row *merged) {
    for (size_t i = 0; i < f->row_count; i++)
        if (stats_same_row(&f->rows[i].id, &merged->id))
            return &f->rows[i];
    return NULL;
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

/* ---- what to do next ------------------------------------------------- */

/* True if $PATH finds the program by the last part of its path. */
static bool is_in_path(const char *program) {
    const char *slash = strrchr(program, '/'), *list = getenv("PATH");
    size_t length = slash ? (size_t)(slash - program) : 0;
    while (list && length) {
        size_t n = strcspn(list, ":");
        if (n == length && memcmp(list, program, n) == 0)
            return true;
        list = list[n] ? list + n + 1 : NULL;
    }
    return false;
}

/* The process that makes the verdict: it lost most time at the row, waited longest for its peer there, or, if
 * there is no such time, was the busiest.  The report proposes to start its program again. */
static const struct reader_file *heaviest(const struct stats_files *s, const struct reader_row *at) {
    const struct reader_file *best = s->list[0];
    uint64_t most = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct reader_row *row = at ? row_in(s->list[i], at) : NULL;
        uint64_t lost = row ? lost_ns(&row->tally) + row->tally.counter[COUNT_PEER_STALL_NS] : 0;
        uint64_t done = row ? row->tally.counter[COUNT_MESSAGES] + 1 : 0;
        uint64_t weight = lost ? lost + (UINT64_C(1) << 62) : done;
        if (weight > most) {
            best = s->list[i];
            most = weight;
        }
    }
    return best;
}

/* " -- PROGRAM ARGUMENT...", as this process was started. */
static void add_program(struct prose *p, const struct report *r, const struct reader_file *process) {
    char name[64];
    prose_add(p, " --");
    if (r->argv) {
        for (size_t i = 0; r->argv[i]; i++)
            prose_add_word(p, r->argv[i]);
    } else if (process->life != LIFE_RUNS || !process_command(p, (pid_t)process->header.pid)) {
        const char *path = process->header.program;
        prose_add_word(p, is_in_path(path) ? base_text(path, name, sizeof(name)) : path);
        prose_add(p, " ...");
    }
}

void report_set(struct prose *p, const struct reader_file *process, const char *mode) {
    if (process->control.killed)
        prose_add(p, "unstall set --unkill %u", process->header.pid);
    else
        prose_add(p, "unstall set %u %s", process->header.pid, mode);
}

bool report_next(struct prose *p, const struct report *r, const struct report_verdict *v) {
    static const char *const options[] = {
        [FOUND_STALLS] = "unstall run --mode auto",
        [FOUND_PEER_STALLS] = "unstall run --quickack auto",
        [FOUND_CURED] = "unstall ab",
        [FOUND_SUSPECTED] = "unstall ab",
        [FOUND_UNSEEN] = NULL,
        [FOUND_APPLICATION] = NULL,
        [FOUND_NO_STALL] = NULL,
        [FOUND_NOT_LOOKED] = "unstall observe",
        [FOUND_NOTHING] = NULL,
    };
    if (!options[v->found] || (v->found == FOUND_STALLS && v->past))
        return false;
    bool cures = v->found == FOUND_STALLS && stats_mode_cures(v->row->id.mode);
    const char *command = options[cures ? FOUND_CURED : v->found];
    const struct reader_file *process = heaviest(r->files, v->row);
    const bool runs = process->life == LIFE_RUNS && !r->argv; /* with it, the statistics end here */
    /* the command line of a process in a container, or of a service, is not for this shell */
    struct process_facts facts;
    const bool known = runs && process_facts((pid_t)process->header.pid, &facts) == 0;
    const bool contained = known && facts.other_files;
    const char *unit = known ? process_lasting_unit(&facts) : NULL;
    const bool measures = cures || v->found == FOUND_CURED || v->found == FOUND_SUSPECTED;
    /* a server does not end by itself, as each run of an experiment must */
    const bool live = measures && (v->row->id.role == ROLE_LISTENER || contained || unit);
    if (runs && v->found == FOUND_NOT_LOOKED) {
        report_set(p, process, "observe");
    } else if (runs && live) {
        prose_add(p, "unstall ab --live %u", process->header.pid);
    } else if (contained) {
        if (v->found != FOUND_STALLS)
            return false;
        report_set(p, process, "auto");
    } else if (unit) {
        prose_add(p, "unstall enable --stats %s --restart %s",
                  v->found == FOUND_STALLS ? "--mode auto" : "--quickack auto", unit);
    } else {
        prose_add(p, "%s%s", command, live ? " --live" : "");
        add_program(p, r, process);
    }
    return true;
}

void report_who(struct prose *p, const struct report *r, bool unnamed) {
    if (r->who)
        who_prose(p, r->who);
    const struct reader_file *worst = unnamed ? heaviest(r->files, r->verdict->row) : NULL;
    for (size_t i = 0; worst && !r->who && i <= r->files->count; i++) {
        const struct reader_file *f = i ? r->files->list[i - 1] : worst;
        struct prose target = {.used = 0};
        if (f->life == LIFE_RUNS)
            prose_add(&target, " %u", f->header.pid);
        else
            add_program(&target, r, f);
        if (who_advice(p, f->header.program, target.text))
            return;
    }
}
