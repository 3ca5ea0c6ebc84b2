/* SPDX-License-Identifier: MIT
 *
 * unstall status: the units that have the drop-in, the statistics of their processes, and what is cured
 * without a drop-in: processes that have the library, runs under the supervisor, attachments.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "errors.h"
#include "format.h"
#include "guards.h"
#include "process_facts.h"
#include "process_stat.h"
#include "service.h"
#include "stats_names.h"
#include "status_parts.h"
#include "terminal.h"

enum { EXIT_WITHOUT = 1 };

/* ---- statistics ------------------------------------------------------- */

/* The statistics file of a process, if it has one. */
static void take_file(struct status_processes *p, pid_t pid) {
    char path[PATH_MAX];
    struct reader_error ignored;
    struct reader_file *file = NULL;
    if (reader_find(pid, path, sizeof(path), &ignored) == 0)
        file = reader_read(path, READ_ROWS | READ_CONNECTIONS, &ignored);
    if (file && stats_files_add(&p->files, file) == 0)
        snprintf(p->mode, sizeof(p->mode), "%s", mode_name(file->header.mode));
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
    FREED struct reader_row *rows = p->files.count ? stats_files_merge(&p->files, &count) : NULL;
    if (!rows)
        return NULL;
    report_verdict_find(&v, &p->files, rows, count, !speaks_utf8());
    v.row = NULL;
    return &v;
}

/* ---- the processes of a unit ------------------------------------------ */

static struct cgroup_pids pids;

static void take_pids(const char *group) {
    static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/systemd",
                                        "/sys/fs/cgroup/unified"};
    char path[PATH_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(roots) && group[0] && pids.count == 0; i++)
        if ((size_t)snprintf(path, sizeof(path), "%s%s", roots[i], group) < sizeof(path))
            cgroup_pids(path, &pids);
}

static void look_at_pids(struct status_processes *p) {
    for (size_t i = 0; i < pids.count; i++) {
        struct process_facts facts;
        int error = process_facts(pids.list[i], &facts);
        if (error == -ESRCH || error == -ENOEXEC)
            continue; /* it has ended meanwhile */
        p->count++;
        if (error)
            p->unknown++;
        else if (facts.library[0])
            p->with++;
        if (!error && facts.library[0])
            take_file(p, pids.list[i]);
    }
}

/* ---- units ------------------------------------------------------------ */

/* The state of one run of the verb. */
struct status {
    const struct manager *m;
    const struct status_form *form;
    pid_t *seen; /* processes of the units */
    size_t seen_count;
};

static void remember(struct status *s) {
    for (size_t i = 0; i < pids.count; i++)
        ARRAY_ADD(s->seen, s->seen_count, pids.list[i]);
}

/* One running or loaded unit.  False: a process is without the library or may not be inspected, its cure is
 * off, or the unit has failed. */
static bool tell_unit(struct status *s, const char *name, bool instance) {
    struct unit u = {.manager = *s->m};
    struct status_processes p = {0};
    if (!properties_read(s->m, name, &u.p))
        return false;
    pids.count = 0;
    take_pids(property(&u.p, "ControlGroup"));
    remember(s);
    look_at_pids(&p);
    struct status_running r = {.name = name,
                               .instance = instance,
                               .state = property(&u.p, "ActiveState"),
                               .since = property(&u.p, "ActiveEnterTimestamp"),
                               .processes = &p,
                               .verdict = status_judge(&p)};
    s->form->running(&r);
    bool all = p.with == p.count && strcmp(p.mode, "off") != 0 && strcmp(r.state, "failed") != 0;
    stats_files_close(&p.files);
    properties_free(&u.p);
    return all;
}

/* All running instances of a template. */
static bool tell_instances(struct status *s, const char *template) {
    char name[UNIT_ROOM];
    FREED char *running = service_running(s->m, template);
    bool all = true;
    const char *units = running;
    while (next_unit(&units, name))
        all &= tell_unit(s, name, true);
    return all;
}

static bool tell_running(struct status *s, const char *name) {
    bool all = true;
    if (!manager_runs(s->m))
        s->form->unknown();
    else
        all = strstr(name, "@.") ? tell_instances(s, name) : tell_unit(s, name, false);
    s->form->unit_end();
    return all;
}

static struct status_dropin dropin_facts(const struct dropin *d) {
    struct status_dropin facts = {.there = true, .mode = "auto"};
    struct stat st;
    FREED char *text = NULL;
    snprintf(facts.path, sizeof(facts.path), "%s", d->path);
    facts.changed = dropin_read(d, &text) == DROPIN_CHANGED;
    if (stat(d->path, &st) == 0)
        facts.since = st.st_mtime;
    if (text && !dropin_has(text, "UNSTALL_MODE", facts.mode, sizeof(facts.mode)))
        snprintf(facts.mode, sizeof(facts.mode), "auto");
    return facts;
}

static bool tell_enabled(struct status *s, const struct dropin *d) {
    struct status_dropin facts = dropin_facts(d);
    s->form->unit(d->unit, &facts, s->m);
    return tell_running(s, d->unit);
}

static bool is_dropin(const char base[PATH_MAX], const char *name, struct dropin *d) {
    FREED char *text = NULL;
    return dropin_place(base, name, d) && dropin_read(d, &text) != DROPIN_NONE;
}

/* The drop-in of the unit, or of its template. */
static bool find_dropin(const char base[PATH_MAX], const char *name, struct dropin *d) {
    char template[UNIT_ROOM];
    const char *at = strchr(name, '@');
    if (!at || at[1] == '.')
        return is_dropin(base, name, d);
    snprintf(template, sizeof(template), "%.*s@.service", (int)(at - name), name);
    return is_dropin(base, name, d) || is_dropin(base, template, d);
}

/* The unit's own name; if systemd does not run, the name as given. */
static int find_name(const struct manager *m, const char *word, char name[UNIT_ROOM]) {
    struct unit u;
    int failed = unit_name(word, name);
    if (failed || !manager_runs(m))
        return failed;
    failed = unit_find(&u, m, word, true);
    if (!failed)
        memcpy(name, u.name, UNIT_ROOM);
    unit_free(&u);
    return failed;
}

/* ---- processes beyond the units -------------------------------------- */

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
    const struct status_group made = {
        .start = UINT64_MAX, .guard = session, .guard_blind = guard && guard->blind};
    return ARRAY_ADD(b->groups, b->group_count, made) ? &b->groups[b->group_count - 1] : NULL;
}

static void take_process(struct status_beyond *b, const struct process_facts *f, uint64_t start,
                         const struct guard *guard) {
    struct status_processes p = {.count = 1};
    char exe[PATH_MAX], program[sizeof(b->groups->program)];
    if (!process_program(f->pid, exe, sizeof(exe))[0])
        return; /* it has ended */
    base_text(exe, program, sizeof(program));
    if (f->library[0]) {
        snprintf(p.mode, sizeof(p.mode), "%s", f->mode[0] ? f->mode : "auto");
        take_file(&p, f->pid);
    }
    struct status_group *g = group_of(b, guard, program, &p);
    if (g && ARRAY_ADD(g->pids, g->processes.count, f->pid)) {
        g->processes.with += f->library[0] != '\0';
        for (size_t i = 0; i < p.files.count; i++)
            stats_files_add(&g->processes.files, p.files.list[i]);
        p.files.count = 0;
        if (f->library[0])
            memcpy(g->processes.mode, p.mode, sizeof(p.mode));
        if (start < g->start || !g->program[0])
            memcpy(g->program, program, sizeof(program));
        g->start = start < g->start ? start : g->start;
    }
    stats_files_close(&p.files);
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
        b->unknown_processes += process_has_command(pid); /* a kernel thread may not be inspected either */
    if (error || !process_stat(pid, &s) || guard_is_called(s.name))
        return;
    const struct guard *guard = guard_of(pid, guards, guard_count);
    if (guard || f.library[0])
        take_process(b, &f, s.start, guard);
}

static void find_processes(struct status_beyond *b, const pid_t *of_units, size_t count) {
    FREED struct guard *guards = NULL;
    size_t guard_count = guards_find(&guards);
    CLOSED_FOLDER *proc = opendir("/proc");
    for (pid_t pid; (pid = process_next(proc)) != 0;)
        if (pid != getpid() && !is_one_of(pid, of_units, count))
            look_at(b, pid, guards, guard_count);
    for (size_t i = 0; i < guard_count; i++) { /* a run whose processes may not be inspected */
        const struct status_processes none = {0};
        struct status_group *g = group_of(b, &guards[i], "", &none);
        if (g && !g->processes.count)
            g->start = guards[i].start;
    }
}

static void beyond_find(struct status_beyond *b, const pid_t *of_units, size_t count) {
    static char why[ATTACH_ERROR];
    find_processes(b, of_units, count);
    int failed = attach_list(&b->attached, &b->attached_count, why);
    b->unknown = failed && failed != -ENOSYS ? why : NULL; /* a build without BPF attaches nothing */
    b->fetching_count = attach_fetchings(&b->fetching);
}

static void beyond_free(struct status_beyond *b) {
    for (size_t i = 0; i < b->group_count; i++) {
        free(b->groups[i].pids);
        stats_files_close(&b->groups[i].processes.files);
    }
    free(b->groups);
    free(b->attached);
    free(b->fetching);
}

/* ---- all -------------------------------------------------------------- */

static int finish(const struct status *s, size_t units, const struct status_beyond *b, bool all) {
    s->form->end(units, b);
    int failed = finish_output();
    return failed ? failed : all ? 0 : EXIT_WITHOUT;
}

static int status_of(struct status *s, char (*base)[PATH_MAX], unsigned bases,
                     const char *word) {
    struct dropin d;
    struct status_dropin facts = {0};
    char name[UNIT_ROOM];
    int failed = find_name(s->m, word, name);
    if (failed)
        return failed;
    for (unsigned i = 0; i < bases && !facts.there; i++)
        if (find_dropin(base[i], name, &d))
            facts = dropin_facts(&d);
    s->form->begin();
    s->form->unit(name, &facts, s->m);
    bool all = tell_running(s, name);
    return finish(s, 1, NULL, facts.there && all);
}

int service_status(const struct manager *m, const char *unit, bool json) {
    struct status s = {.m = m, .form = json ? &status_as_json : &status_as_text};
    char base[DROPIN_BASES][PATH_MAX];
    unsigned bases = dropin_bases(m, base);
    bool all = true;
    size_t total = 0;
    if (!bases)
        return EXIT_OWN;
    if (unit)
        return status_of(&s, base, bases, unit);
    s.form->begin();
    for (unsigned i = 0; i < bases; i++) {
        size_t count = 0;
        FREED struct dropin *list = dropin_list(base[i], &count);
        for (size_t k = 0; k < count; k++)
            all &= tell_enabled(&s, &list[k]);
        total += count;
    }
    struct status_beyond b = {.groups = NULL};
    if (!m->user)
        beyond_find(&b, s.seen, s.seen_count);
    int code = finish(&s, total, m->user ? NULL : &b, all);
    beyond_free(&b);
    free(s.seen);
    return code;
}
