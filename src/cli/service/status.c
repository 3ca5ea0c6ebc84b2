/* SPDX-License-Identifier: MIT
 *
 * unstall status: which units have the drop-in, and what their processes say.
 */
#include <ctype.h>
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dropin.h"
#include "errors.h"
#include "format.h"
#include "process_facts.h"
#include "prose.h"
#include "report_facts.h"
#include "service.h"
#include "stats_names.h"
#include "terminal.h"
#include "verdict.h"

enum { PROCESSES_MOST = 4096, INDENT = 13, EXIT_WITHOUT = 1 };

/* ---- the processes of a unit ------------------------------------------ */

struct processes {
    size_t count, with, unknown;
    struct stats_files files; /* of those that have one */
    char mode[32];            /* in force now, of the last process that has a file */
};

static pid_t pids[PROCESSES_MOST];
static size_t pid_count;

/* nftw(3) passes no argument on. */
static int take_group(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
    char name[PATH_MAX], line[32];
    (void)st, (void)ftw;
    if (kind != FTW_D ||
        (size_t)snprintf(name, sizeof(name), "%s/cgroup.procs", path) >= sizeof(name))
        return 0;
    FILE *f = fopen(name, "re");
    while (f && pid_count < PROCESSES_MOST && fgets(line, sizeof(line), f))
        pids[pid_count++] = (pid_t)strtol(line, NULL, 10);
    if (f)
        fclose(f);
    return 0;
}

static void take_pids(const char *group) {
    static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/systemd",
                                        "/sys/fs/cgroup/unified"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && group[0] && pid_count == 0; i++)
        if ((size_t)snprintf(path, sizeof(path), "%s%s", roots[i], group) < sizeof(path))
            nftw(path, take_group, 16, FTW_PHYS);
}

static void take_file(struct processes *p, pid_t pid) {
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

static void look_at(struct processes *p) {
    for (size_t i = 0; i < pid_count; i++) {
        struct process_facts facts;
        int error = process_facts(pids[i], &facts);
        if (error == -ESRCH || error == -ENOEXEC)
            continue; /* it has ended meanwhile */
        p->count++;
        if (error)
            p->unknown++;
        else if (facts.library[0])
            p->with++;
        if (!error && facts.library[0])
            take_file(p, pids[i]);
    }
}

static void free_processes(struct processes *p) {
    for (size_t i = 0; i < p->files.count; i++)
        reader_free(p->files.list[i]);
    free(p->files.list);
}

/* ---- lines ------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void line(const char *label, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    printf("    %-*s", INDENT - 4, label);
    print_wrapped(stdout, text ? text : "?", INDENT, INDENT, (unsigned)terminal_width(stdout));
    free(text);
}

static void print_stalls(const struct processes *p) {
    static struct verdict v;
    char who[PROGRAMS_ROOM];
    size_t count = 0;
    struct reader_row *rows = p->files.count ? stats_files_merge(&p->files, &count) : NULL;
    if (!rows) {
        line("stalls", "%s",
             p->with ? "not counted: enable it with --stats" : "no process has the library");
        return;
    }
    struct verdict_start start = start_of(&p->files);
    verdict_find(&v, programs_text(&p->files, who), rows, count, &start, !speaks_utf8());
    line("stalls", "%s", v.sentence.text);
    free(rows);
}

static void print_processes(const struct unit *u, const struct processes *p) {
    const char *since = property(&u->p, "ActiveEnterTimestamp");
    if (!p->count)
        line("runs", "no process (%s)", property(&u->p, "ActiveState"));
    else if (p->unknown == p->count)
        line("runs", "%zu process%s, which may not be inspected; run this as root", p->count,
             p->count == 1 ? "" : "es");
    else
        line("runs", "since %s; the library is loaded in %zu of %zu process%s%s%s",
             since[0] ? since : "?", p->with, p->count, p->count == 1 ? "" : "es",
             p->with ? "" : ": not before its next start",
             p->unknown ? "; some may not be inspected" : "");
}

static void print_dropin(const struct dropin *d, enum dropin_state state, const char *text) {
    struct stat st;
    char since[32] = "?", mode[64];
    struct tm t;
    if (stat(d->path, &st) == 0 && localtime_r(&st.st_mtime, &t))
        strftime(since, sizeof(since), "%F %T %Z", &t);
    line("drop-in", "%s%s, since %s", d->path, state == DROPIN_CHANGED ? " (changed by hand)" : "",
         since);
    line("mode", "%s",
         text && dropin_has(text, "UNSTALL_MODE", mode, sizeof(mode)) ? mode : "auto");
}

/* ---- units ------------------------------------------------------------ */

/* One running or loaded unit.  False: a process is without the library. */
static bool print_unit(const struct manager *m, const char *name) {
    struct unit u = {.manager = *m};
    struct processes p = {0};
    if (!properties_read(m, name, &u.p))
        return true;
    pid_count = 0;
    take_pids(property(&u.p, "ControlGroup"));
    look_at(&p);
    print_processes(&u, &p);
    if (p.mode[0])
        line("now", "mode %s", p.mode);
    if (p.count)
        print_stalls(&p);
    bool all = p.with == p.count - p.unknown;
    free_processes(&p);
    properties_free(&u.p);
    return all;
}

/* All running instances of a template. */
static bool print_instances(const struct manager *m, const char *template) {
    char name[UNIT_ROOM], *running = service_running(m, template);
    bool all = true;
    const char *units = running;
    while (next_unit(&units, name)) {
        printf("  %s\n", name);
        all &= print_unit(m, name);
    }
    free(running);
    return all;
}

static bool print_running(const struct manager *m, const char *name) {
    if (!manager_runs(m)) {
        line("runs", "not known: systemd does not run here");
        return true;
    }
    return strstr(name, "@.") ? print_instances(m, name) : print_unit(m, name);
}

static bool print_enabled(const struct manager *m, const struct dropin *d) {
    char *text = NULL;
    enum dropin_state state = dropin_read(d, &text);
    printf("%s\n", d->unit);
    print_dropin(d, state, text);
    free(text);
    return print_running(m, d->unit);
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

static int status_of(const struct manager *m, char (*base)[PATH_MAX], unsigned bases,
                     const char *word) {
    struct unit u;
    struct dropin d;
    char name[UNIT_ROOM];
    int failed = unit_name(word, name);
    if (failed)
        return failed;
    bool systemd = manager_runs(m);
    if (systemd) {
        failed = unit_find(&u, m, word, true);
        if (!failed)
            memcpy(name, u.name, sizeof(name));
        unit_free(&u);
        if (failed)
            return failed;
    }
    printf("%s\n", name);
    bool there = false;
    for (unsigned i = 0; i < bases && !there; i++)
        there = find_dropin(base[i], name, &d);
    if (there) {
        char *text = NULL;
        enum dropin_state state = dropin_read(&d, &text);
        print_dropin(&d, state, text);
        free(text);
    } else {
        line("drop-in", "none; unstall enable %s%s writes one", manager_option(m), name);
    }
    bool all = print_running(m, name);
    failed = finish_output();
    return failed ? failed : there && all ? 0 : EXIT_WITHOUT;
}

int service_status(const struct manager *m, const char *unit) {
    char base[2][PATH_MAX];
    unsigned bases = 1;
    bool all = true;
    size_t total = 0;
    if (!dropin_base(m, false, base[0]))
        return EXIT_OWN;
    if ((!m->user || getenv("XDG_RUNTIME_DIR")) && dropin_base(m, true, base[1]))
        bases = 2;
    if (unit)
        return status_of(m, base, bases, unit);
    for (unsigned i = 0; i < bases; i++) {
        size_t count = 0;
        struct dropin *list = dropin_list(base[i], &count);
        for (size_t k = 0; k < count; k++)
            all &= print_enabled(m, &list[k]);
        total += count;
        free(list);
    }
    if (!total)
        puts("no unit has the library by a drop-in of unstall");
    int failed = finish_output();
    return failed ? failed : all ? 0 : EXIT_WITHOUT;
}
