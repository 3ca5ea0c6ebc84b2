/* SPDX-License-Identifier: MIT
 *
 * What is cured without a drop-in: processes that have the library, runs under the supervisor, attachments.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "format.h"
#include "guards.h"
#include "process_facts.h"
#include "process_stat.h"
#include "stats_names.h"
#include "status_parts.h"
#include "terminal.h"

/* ---- statistics ------------------------------------------------------- */

void status_take_file(struct status_processes *p, pid_t pid) {
    char path[PATH_MAX];
    struct reader_error ignored;
    struct reader_file *file = NULL, **list;
    if (reader_find(pid, path, sizeof(path), &ignored) == 0)
        file = reader_read(path, READ_ROWS | READ_CONNECTIONS, &ignored);
    list =
        file ? reallocarray(p->files.list, p->files.count + 1, sizeof(struct reader_file *)) : NULL;
    if (!list) {
        reader_free(file);
        return;
    }
    p->files.list = list;
    p->files.list[p->files.count++] = file;
    snprintf(p->mode, sizeof(p->mode), "%s", mode_name(file->header.mode));
}

void status_free_files(struct status_processes *p) {
    for (size_t i = 0; i < p->files.count; i++)
        reader_free(p->files.list[i]);
    free(p->files.list);
}

bool status_sums(const struct stats_files *files, struct status_sums *sums) {
    *sums = (struct status_sums){.looked = true};
    for (size_t i = 0; i < files->count; i++)
        for (size_t k = 0; k < files->list[i]->row_count; k++) {
            const struct reader_row *row = &files->list[i]->rows[k];
            sums->exchanges += row->tally.counter[COUNT_EXCHANGES];
            sums->stalls += proved_stalls(&row->tally);
            sums->looked &= is_looked_at(row);
        }
    return files->count != 0;
}

const struct report_verdict *status_judge(const struct status_processes *p) {
    static struct report_verdict v;
    size_t count = 0;
    struct reader_row *rows = p->files.count ? stats_files_merge(&p->files, &count) : NULL;
    if (!rows)
        return NULL;
    report_verdict_find(&v, &p->files, rows, count, !speaks_utf8());
    v.row = NULL;
    free(rows);
    return &v;
}

/* ---- processes -------------------------------------------------------- */

static struct status_group *add_group(struct status_beyond *b) {
    struct status_group *more = reallocarray(b->groups, b->group_count + 1, sizeof(*more));
    if (!more)
        return NULL;
    b->groups = more;
    more[b->group_count] = (struct status_group){.start = UINT64_MAX};
    return &more[b->group_count++];
}

/* The group of a process with these facts: of its run, or of its program, its mode and whether it has
 * statistics. */
static struct status_group *group_of(struct status_beyond *b, const struct guard *guard,
                                     const char *program, const struct status_processes *p) {
    const pid_t session = guard ? guard->session : 0;
    for (size_t i = 0; i < b->group_count; i++) {
        struct status_group *g = &b->groups[i];
        if (g->guard == session &&
            (guard || (strcmp(g->program, program) == 0 && strcmp(g->processes.mode, p->mode) == 0 &&
                       !g->processes.files.count == !p->files.count)))
            return g;
    }
    struct status_group *g = add_group(b);
    if (g) {
        g->guard = session;
        g->guard_blind = guard && guard->blind;
    }
    return g;
}

static void append(struct status_group *g, struct status_processes *p) {
    struct status_processes *all = &g->processes;
    struct reader_file **list =
        reallocarray(all->files.list, all->files.count + p->files.count + 1, sizeof(struct reader_file *));
    if (!list)
        return;
    all->files.list = list;
    for (size_t i = 0; i < p->files.count; i++)
        list[all->files.count++] = p->files.list[i];
    free(p->files.list);
    p->files = (struct stats_files){.list = NULL};
}

static void take_process(struct status_beyond *b, const struct process_facts *f,
                         const struct guard *guard) {
    struct process_stat s;
    struct status_processes p = {.count = 1};
    char exe[PATH_MAX], program[sizeof(b->groups->program)];
    if (!process_program(f->pid, exe, sizeof(exe))[0] || !process_stat(f->pid, &s))
        return; /* it has ended */
    base_text(exe, program, sizeof(program));
    if (f->library[0]) {
        snprintf(p.mode, sizeof(p.mode), "%s", f->mode[0] ? f->mode : "auto");
        status_take_file(&p, f->pid);
    }
    struct status_group *g = group_of(b, guard, program, &p);
    pid_t *pids = g ? reallocarray(g->pids, g->processes.count + 1, sizeof(*pids)) : NULL;
    if (pids) {
        g->pids = pids;
        pids[g->processes.count++] = f->pid;
        g->processes.with += f->library[0] != '\0';
        append(g, &p);
        if (f->library[0])
            memcpy(g->processes.mode, p.mode, sizeof(p.mode));
        if (s.start < g->start || !g->program[0])
            memcpy(g->program, program, sizeof(program));
        g->start = s.start < g->start ? s.start : g->start;
    }
    status_free_files(&p);
}

/* A kernel thread may not be inspected either; it has no command line. */
static bool is_program(pid_t pid) {
    char some[2];
    return process_text(pid, "cmdline", some, sizeof(some)) > 0;
}

static bool is_one_of(pid_t pid, const pid_t *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == pid)
            return true;
    return false;
}

static void look_at(struct status_beyond *b, pid_t pid, const struct guard *guards, size_t guard_count) {
    static struct process_facts f;
    struct process_stat s;
    int error = process_library(pid, &f);
    if (error == -EACCES || error == -EPERM)
        b->unknown_processes += is_program(pid);
    if (error || (process_stat(pid, &s) && guard_is_called(s.name)))
        return;
    const struct guard *guard = guard_of(pid, guards, guard_count);
    if (guard || f.library[0])
        take_process(b, &f, guard);
}

static void find_processes(struct status_beyond *b, const pid_t *of_units, size_t count) {
    struct guard *guards;
    size_t guard_count = guards_find(&guards);
    DIR *proc = opendir("/proc");
    for (pid_t pid; (pid = process_next(proc)) != 0;)
        if (pid != getpid() && !is_one_of(pid, of_units, count))
            look_at(b, pid, guards, guard_count);
    if (proc)
        closedir(proc);
    for (size_t i = 0; i < guard_count; i++) { /* a run whose processes may not be inspected */
        const struct status_processes none = {0};
        struct status_group *g = group_of(b, &guards[i], "", &none);
        if (g && !g->processes.count)
            g->start = guards[i].start;
    }
    free(guards);
}

/* ---- all -------------------------------------------------------------- */

void beyond_find(struct status_beyond *b, const pid_t *of_units, size_t count) {
    static char why[ATTACH_ERROR];
    find_processes(b, of_units, count);
    int failed = attach_list(&b->attached, &b->attached_count, why);
    b->unknown = failed && failed != -ENOSYS ? why : NULL; /* a build without BPF attaches nothing */
    b->fetching_count = attach_fetchings(&b->fetching);
}

void beyond_free(struct status_beyond *b) {
    for (size_t i = 0; i < b->group_count; i++) {
        free(b->groups[i].pids);
        status_free_files(&b->groups[i].processes);
    }
    free(b->groups);
    free(b->attached);
    free(b->fetching);
}
