/* SPDX-License-Identifier: MIT
 *
 * unstall status for people.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format.h"
#include "process_stat.h"
#include "status_parts.h"
#include "terminal.h"

enum { INDENT = 13, SINCE = 40 };

static const char *undo, *option; /* of the unit that is told */

__attribute__((format(printf, 2, 3))) static void line(const char *label, const char *format, ...) {
    FREED char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    printf("    %-*s", INDENT - 4, label);
    print_wrapped(stdout, text ? text : "?", INDENT, INDENT, (unsigned)terminal_width(stdout));
}

static void begin(void) {}

static const char *since_text(time_t since, char text[SINCE]) {
    struct tm t;
    if (!since || !localtime_r(&since, &t) || !strftime(text, SINCE, "%F %T %Z", &t))
        snprintf(text, SINCE, "?");
    return text;
}

static const char *start_text(uint64_t start, char text[SINCE]) {
    return since_text((time_t)(process_began_ns(start) / 1000000000), text);
}

static void seen(const struct status_processes *p) {
    char exchanges[NAME_ROOM], stalls[NAME_ROOM];
    struct status_sums s;
    if (status_sums(&p->files, &s))
        line("seen", "%s exchange%s, %s stall%s", count_text(s.exchanges, exchanges),
             s.exchanges == 1 ? "" : "s", s.looked ? count_text(s.stalls, stalls) : "?",
             s.looked && s.stalls == 1 ? "" : "s");
}

static void unit(const char *name, const struct status_dropin *d, const struct manager *m) {
    char since[SINCE];
    printf("%s\n", name);
    undo = NULL;
    if (!d->there) {
        if (manager_runs(m))
            line("drop-in", "none; unstall enable %s%s writes one", manager_option(m), name);
        else
            line("drop-in", "none");
        return;
    }
    undo = name;
    option = manager_option(m);
    line("drop-in", "%s%s, since %s", d->path, d->changed ? " (changed by hand)" : "",
         since_text(d->since, since));
    line("mode", "%s", d->mode);
}

static void unknown(void) {
    line("runs", "not known: systemd does not run here");
}

static void processes(const struct status_running *r, const struct status_processes *p) {
    if (!p->count)
        line("runs", "no process (%s)", r->state);
    else if (p->unknown == p->count)
        line("runs", "%zu process%s, which may not be inspected%s", p->count, p->count == 1 ? "" : "es",
             reader_refused(EPERM, ROOT));
    else
        line("runs", "since %s; the library is loaded in %zu of %zu process%s%s%s",
             r->since[0] ? r->since : "?", p->with, p->count, p->count == 1 ? "" : "es",
             p->with ? "" : ": not before its next start",
             p->unknown ? "; some may not be inspected" : "");
}

static void running(const struct status_running *r) {
    const struct status_processes *p = r->processes;
    if (r->instance)
        printf("  %s\n", r->name);
    processes(r, p);
    if (p->mode[0])
        line("now", "mode %s", p->mode);
    seen(p);
    if (p->count && r->verdict)
        line("stalls", "%s", r->verdict->sentence.text);
    else if (p->count)
        line("stalls", "%s",
             p->with                  ? "not counted: enable it with --stats"
             : p->unknown == p->count ? "not known"
                                      : "no process has the library");
}

static void unit_end(void) {
    if (undo)
        line("undo", "unstall disable %s%s", option, undo);
}

/* "nginx (pid 4711)", "nginx (pids 4711, 4712 and 6 more)" */
static void print_group(const struct status_group *g) {
    enum { NAMED = 4 };
    size_t count = g->processes.count;
    printf("%s", g->program[0] ? g->program : "unstall run");
    for (size_t i = 0; i < count && i < NAMED; i++)
        printf("%s%d", i ? i + 1 == count ? " and " : ", " : count == 1 ? " (pid " : " (pids ",
               (int)g->pids[i]);
    if (count > NAMED)
        printf(" and %zu more", count - NAMED);
    puts(count ? ")" : "");
}

static void group(const struct status_group *g) {
    const struct status_processes *p = &g->processes;
    char since[SINCE];
    print_group(g);
    if (g->guard)
        line("run", "under the seccomp supervisor (process %d), since %s; TCP_NODELAY on each connection%s",
             (int)g->guard, start_text(g->start, since),
             g->guard_blind ? ", but those on which the program sets it itself: a seccomp filter "
                                        "forbids the supervisor to look at sockets"
                                      : "");
    else
        line("library", "loaded, since %s", start_text(g->start, since));
    if (!p->count)
        line("", "its processes may not be inspected%s", reader_refused(EPERM, ROOT));
    if (p->mode[0])
        line("mode", "%s", p->mode);
    seen(p);
    const struct report_verdict *v = status_judge(p);
    line("stalls", "%s", v ? v->sentence.text : "not counted: no statistics");
    if (g->guard)
        line("undo", "start it again without unstall run");
    else if (p->files.count && strcmp(p->mode, "off") == 0)
        line("undo", "nothing is changed in mode off; for good, start it again without the library");
    else if (p->files.count)
        line("undo", "unstall set %d off%s; for good, start it again without the library", (int)g->pids[0],
             p->count > 1 ? ", and so each" : "");
    else
        line("undo", "start it again without the library (LD_PRELOAD)");
}

static void attached(const struct attach_state *s) {
    const struct attach_config *c = &s->config;
    char text[ATTACH_TARGET], since[SINCE], count[NAME_ROOM];
    printf("%s\n", s->known ? safe_text(c->target, text, sizeof(text)) : s->name);
    if (s->known) {
        line("attached", "since %s; %s connection%s cured",
             since_text((time_t)(c->began_ns / 1000000000), since), count_text(c->cured, count),
             c->cured == 1 ? "" : "s");
        line("mode", "%s", attach_mode_name(c));
        line("stalls", "not counted: no statistics");
    } else {
        line("attached", "by another version of unstall");
    }
    line("undo", "unstall detach %s", s->name);
}

static void fetching(const struct attach_fetching *f) {
    char since[SINCE];
    printf("process %d\n", (int)f->target);
    line("attached", "without privilege (pidfd_getfd), since %s", start_text(f->start, since));
    line("mode", "always");
    line("stalls", "not counted: no statistics");
    line("undo", "Ctrl-C in that unstall attach, or kill %d", (int)f->command);
}

static void end(size_t units, const struct status_beyond *b) {
    if (!b && !units)
        puts("no unit has the library by a drop-in of unstall");
    if (!b)
        return;
    for (size_t i = 0; i < b->group_count; i++)
        group(&b->groups[i]);
    for (size_t i = 0; i < b->attached_count; i++)
        attached(&b->attached[i]);
    for (size_t i = 0; i < b->fetching_count; i++)
        fetching(&b->fetching[i]);
    if (!(units + b->group_count + b->attached_count + b->fetching_count))
        print_wrapped(stdout,
                      b->unknown || b->unknown_processes
                          ? "nothing was seen that unstall cures"
                          : "nothing is cured here by unstall: no drop-in, no process with the library, no "
                            "run under the supervisor, no attachment",
                      0, 0, (unsigned)terminal_width(stdout));
    if (b->unknown)
        printf("what is attached is not known: %s\n", b->unknown);
    if (b->unknown_processes)
        printf("%zu process%s may not be inspected, and may be cured too%s\n", b->unknown_processes,
               b->unknown_processes == 1 ? "" : "es", geteuid() ? "; root sees all" : "");
}

const struct status_form status_as_text = {begin, unit, unknown, running, unit_end, end};
