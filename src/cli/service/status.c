/* SPDX-License-Identifier: MIT
 *
 * unstall status: the units that have the drop-in, the statistics of their processes, and what else is cured.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cgroup_pids.h"
#include "errors.h"
#include "process_facts.h"
#include "service.h"
#include "status_parts.h"

enum { EXIT_WITHOUT = 1 };

/* ---- the processes of a unit ------------------------------------------ */

static struct cgroup_pids pids;

static void take_pids(const char *group) {
    static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/systemd",
                                        "/sys/fs/cgroup/unified"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && group[0] && pids.count == 0; i++)
        if ((size_t)snprintf(path, sizeof(path), "%s%s", roots[i], group) < sizeof(path))
            cgroup_pids(path, &pids);
}

static void look_at(struct status_processes *p) {
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
            status_take_file(p, pids.list[i]);
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
    pid_t *more = reallocarray(s->seen, s->seen_count + pids.count + 1, sizeof(*more));
    if (!more)
        return;
    s->seen = more;
    memcpy(more + s->seen_count, pids.list, pids.count * sizeof(*more));
    s->seen_count += pids.count;
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
    look_at(&p);
    struct status_running r = {.name = name,
                               .instance = instance,
                               .state = property(&u.p, "ActiveState"),
                               .since = property(&u.p, "ActiveEnterTimestamp"),
                               .processes = &p,
                               .verdict = status_judge(&p)};
    s->form->running(&r);
    bool all = p.with == p.count && strcmp(p.mode, "off") != 0 && strcmp(r.state, "failed") != 0;
    status_free_files(&p);
    properties_free(&u.p);
    return all;
}

/* All running instances of a template. */
static bool tell_instances(struct status *s, const char *template) {
    char name[UNIT_ROOM], *running = service_running(s->m, template);
    bool all = true;
    const char *units = running;
    while (next_unit(&units, name))
        all &= tell_unit(s, name, true);
    free(running);
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
    char *text = NULL;
    snprintf(facts.path, sizeof(facts.path), "%s", d->path);
    facts.changed = dropin_read(d, &text) == DROPIN_CHANGED;
    if (stat(d->path, &st) == 0)
        facts.since = st.st_mtime;
    if (text && !dropin_has(text, "UNSTALL_MODE", facts.mode, sizeof(facts.mode)))
        snprintf(facts.mode, sizeof(facts.mode), "auto");
    free(text);
    return facts;
}

static bool tell_enabled(struct status *s, const struct dropin *d) {
    struct status_dropin facts = dropin_facts(d);
    s->form->unit(d->unit, &facts, s->m);
    return tell_running(s, d->unit);
}

/* The drop-in of the unit, or of its template. */
static bool find_dropin(const char base[PATH_MAX], const char *name, struct dropin *d) {
    char template[UNIT_ROOM];
    const char *at = strchr(name, '@');
    char *text = NULL;
    bool there = dropin_place(base, name, d) && dropin_read(d, &text) != DROPIN_NONE;
    free(text);
    text = NULL;
    if (there || !at || at[1] == '.')
        return there;
    snprintf(template, sizeof(template), "%.*s@.service", (int)(at - name), name);
    there = dropin_place(base, template, d) && dropin_read(d, &text) != DROPIN_NONE;
    free(text);
    return there;
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
        struct dropin *list = dropin_list(base[i], &count);
        for (size_t k = 0; k < count; k++)
            all &= tell_enabled(&s, &list[k]);
        total += count;
        free(list);
    }
    struct status_beyond b = {.groups = NULL};
    if (!m->user)
        beyond_find(&b, s.seen, s.seen_count);
    int code = finish(&s, total, m->user ? NULL : &b, all);
    beyond_free(&b);
    free(s.seen);
    return code;
}
