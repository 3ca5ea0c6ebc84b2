/* SPDX-License-Identifier: MIT
 *
 * unstall status for people.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "format.h"
#include "prose.h"
#include "status_parts.h"
#include "terminal.h"

enum { INDENT = 13 };

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

static void begin(void) {}

static void unit(const char *name, const struct status_dropin *d, const struct manager *m) {
    char since[32] = "?";
    struct tm t;
    printf("%s\n", name);
    if (!d->there) {
        line("drop-in", "none; unstall enable %s%s writes one", manager_option(m), name);
        return;
    }
    if (d->since && localtime_r(&d->since, &t))
        strftime(since, sizeof(since), "%F %T %Z", &t);
    line("drop-in", "%s%s, since %s", d->path, d->changed ? " (changed by hand)" : "", since);
    line("mode", "%s", d->mode);
}

static void unknown(void) {
    line("runs", "not known: systemd does not run here");
}

static void processes(const struct status_running *r, const struct status_processes *p) {
    if (!p->count)
        line("runs", "no process (%s)", r->state);
    else if (p->unknown == p->count)
        line("runs", "%zu process%s, which may not be inspected; run this as root", p->count,
             p->count == 1 ? "" : "es");
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
    if (p->count && r->verdict)
        line("stalls", "%s", r->verdict->sentence.text);
    else if (p->count)
        line("stalls", "%s",
             p->with                  ? "not counted: enable it with --stats"
             : p->unknown == p->count ? "not known"
                                      : "no process has the library");
}

static void unit_end(void) {}

static void attached(const struct attach_state *s) {
    char text[ATTACH_TARGET], date[NAME_ROOM], count[NAME_ROOM];
    printf("%s\n", s->known ? safe_text(s->config.target, text, sizeof(text)) : s->name);
    if (s->known)
        line("attached", "since %s; %s connection%s cured", date_text(s->config.began_ns, date),
             count_text(s->config.cured, count), s->config.cured == 1 ? "" : "s");
    else
        line("attached", "by another version of unstall");
    line("undo", "unstall detach %s", s->name);
}

static void end(size_t units, const struct status_attached *a) {
    if (!units)
        puts("no unit has the library by a drop-in of unstall");
    if (a && a->unknown)
        printf("what is attached is not known: %s\n", a->unknown);
    for (size_t i = 0; a && i < a->count; i++)
        attached(&a->list[i]);
}

const struct status_form status_as_text = {begin, unit, unknown, running, unit_end, end};
