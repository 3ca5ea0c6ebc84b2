/* SPDX-License-Identifier: MIT
 *
 * unstall enable.  Each step that fails undoes those before it.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "array.h"
#include "closing.h"
#include "conf.h"
#include "dropin.h"
#include "errors.h"
#include "format.h"
#include "library.h"
#include "program.h"
#include "reader.h"
#include "service.h"

enum { VALUE_ROOM = 65536, PROGRAMS_MOST = 8, NAMES_MOST = 2 + 3 * PROGRAMS_MOST };

/* ---- the text --------------------------------------------------------- */

static const char *chosen(const struct service_order *o, const char *variable) {
    for (size_t i = o->setting_count; i-- > 0;)
        if (strcmp(o->settings[i].variable, variable) == 0)
            return o->settings[i].value;
    return NULL;
}

static void preload_line(FILE *out, const struct unit *u, const char *library) {
    static char own[VALUE_ROOM];
    bool has = list_variable(property(&u->p, "Environment"), "LD_PRELOAD", own, sizeof(own)) ||
               manager_variable(&u->manager, "LD_PRELOAD", own, sizeof(own));
    FREED char *list = preload_list(has ? own : NULL, library);
    if (!list)
        exit(complain("%s", strerror(ENOMEM)));
    if (strcmp(list, library) != 0)
        remark("%s: has LD_PRELOAD=%s already, which is kept before the library", u->name, own);
    dropin_variable(out, "LD_PRELOAD", list, false);
}

/* A path with a control character cannot stand in a unit. */
static void check_value(const char *variable, const char *value) {
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            exit(complain("%s=%s: has a control character, which a unit cannot express", variable,
                          value));
}

static void settings_lines(FILE *out, const struct service_order *o) {
    for (size_t i = 0; i < o->setting_count; i++) {
        const struct service_setting *s = &o->settings[i];
        if (chosen(o, s->variable) != s->value)
            continue; /* a later option sets the same variable */
        check_value(s->variable, s->value);
        dropin_variable(out, s->variable, s->value, false);
    }
}

/* True if the unit's own Environment= sets the variable, and not only the present drop-in. */
static bool own_variable(const struct unit *u, const char *before, const char *name) {
    static char value[VALUE_ROOM], ours[VALUE_ROOM];
    if (!list_variable(property(&u->p, "Environment"), name, value, sizeof(value)))
        return false;
    return !before || !dropin_has(before, name, ours, sizeof(ours)) || strcmp(ours, value) != 0;
}

/* The names of sections in unstall.conf(5) that apply to the unit: its own, its template's, its programs'. */
struct names {
    const char *list[NAMES_MOST];
    size_t count;
    char template[UNIT_ROOM];
    struct program programs[PROGRAMS_MOST];
};

static void add_name(struct names *n, const char *name) {
    if (name[0] && n->count < NAMES_MOST)
        n->list[n->count++] = name;
}

static void names_of(const struct unit *u, struct names *n) {
    char path[PATH_MAX];
    const char *exec = NULL, *at = strchr(u->name, '@');
    add_name(n, u->name);
    if (at) {
        snprintf(n->template, sizeof(n->template), "%.*s@.service", (int)(at - u->name), u->name);
        add_name(n, n->template);
    }
    for (size_t i = 0; i < PROGRAMS_MOST && (exec = property_next(&u->p, "ExecStart", exec)); i++) {
        if (!exec_path(exec, path, sizeof(path)))
            continue;
        struct program *p = &n->programs[i];
        program_find(p, path);
        add_name(n, base_of(p->path));
        add_name(n, base_of(p->script));
        add_name(n, base_of(p->file));
    }
}

/* The command line wins over the unit's own environment, which wins over the settings of the machine. */
static int conf_lines(FILE *out, const struct service_order *o, const struct unit *u,
                      const char *before) {
    static struct names n;
    struct conf c;
    names_of(u, &n);
    int failed = conf_read(&c, o->conf, n.list, n.count);
    for (size_t i = 0; i < c.count; i++) {
        const struct conf_setting *s = &c.settings[i];
        bool stats = o->stats && strcmp(s->variable, "UNSTALL_STATS") == 0;
        if (stats || chosen(o, s->variable) || own_variable(u, before, s->variable))
            continue;
        check_value("--conf", s->place);
        fprintf(out, "# from %s\n", s->place);
        dropin_variable(out, s->variable, s->value, false);
    }
    conf_free(&c);
    return failed;
}

static char *compose(const struct service_order *o, const struct unit *u, const struct dropin *d,
                     const char *before, const char *library) {
    char *lines = NULL, *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&lines, &size);
    if (!out)
        return NULL;
    check_value("LD_PRELOAD", library);
    fprintf(out,
            "# Written by unstall enable; undone by: unstall disable %s%s\n"
            "# Put your own settings into another file: disable refuses to remove a changed one.\n"
            "[Service]\n",
            manager_option(&o->manager), u->name);
    preload_line(out, u, library);
    settings_lines(out, o);
    int failed = conf_lines(out, o, u, before);
    if (o->stats) {
        fputs("RuntimeDirectory=unstall/%N\n", out);
        dropin_variable(out, "UNSTALL_STATS", "%t/unstall/%N", true);
    }
    bool good = fclose(out) == 0 && !failed;
    if (good && lines)
        text = dropin_text(d, lines);
    free(lines);
    return text;
}

/* ---- the steps -------------------------------------------------------- */

static int undo(const struct dropin *d, const struct manager *m, const char *before) {
    int error = before ? dropin_write(d, before) : dropin_remove(d);
    if (error)
        return complain("%s: could not be taken back: %s", d->path, strerror(-error));
    systemctl_do(m, true, "daemon-reload", NULL);
    return EXIT_OWN;
}

/* Checks that the unit has the library now, as systemd sees it.  Another drop-in may set LD_PRELOAD after
 * ours, or one of the same name in /etc may hide ours. */
static int verify(const struct unit *u, const struct dropin *d, const char *library) {
    static char value[VALUE_ROOM];
    struct properties now = {0};
    int failed = EXIT_OWN;
    if (!properties_read(&u->manager, u->asked, &now))
        return EXIT_OWN;
    bool has = list_variable(property(&now, "Environment"), "LD_PRELOAD", value, sizeof(value));
    if (!strstr(property(&now, "DropInPaths"), d->path))
        complain(
            "%s: systemd does not read %s: one of the same name in a folder before it, or a link, "
            "takes its place; all undone",
            u->name, d->path);
    else if (!has || !strstr(value, library))
        complain("%s: another file of %s sets LD_PRELOAD after " DROPIN_NAME
                 ": add %s there; all undone",
                 u->name, property(&now, "DropInPaths"), library);
    else
        failed = 0;
    properties_free(&now);
    return failed;
}

static void show(const struct dropin *d, const char *text) {
    printf("%s:\n", d->path);
    while (text && *text) {
        size_t n = strcspn(text, "\n");
        printf("    %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

/* Between the writing of the file and the reload, a signal from the terminal must not end us or systemctl. */
static void interruptible(bool on) {
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    static void (*before[ARRAY_SIZE(signals)])(int);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        if (on)
            signal(signals[i], before[i]);
        else
            before[i] = signal(signals[i], SIG_IGN);
    }
}

/* Restarts the units that ran before.  A unit that fails with the library is started without it. */
static int restart(const struct service_order *o, const struct unit *u, const struct dropin *d,
                   const char *before) {
    FREED char *running = service_running(&o->manager, u->name);
    int failed = service_each(&o->manager, false, "restart", running);
    if (!failed && running && *running)
        failed = service_check_running(&o->manager, running);
    if (failed) {
        undo(d, &o->manager, before);
        /* failed starts count against StartLimitBurst=, which would forbid the start without the library */
        service_each(&o->manager, true, "reset-failed", running);
        service_each(&o->manager, false, "restart", running);
        complain("%s: does not start with the library; all undone, and restarted without it",
                 u->name);
    } else if (!o->stats) {
        service_forget_stats(&o->manager, u->name);
    }
    return failed;
}

static int write_and_reload(const struct service_order *o, const struct unit *u,
                            const struct dropin *d, const char *text, const char *before,
                            const char *library) {
    interruptible(false);
    int error = dropin_write(d, text);
    if (error)
        return complain("%s: %s%s", d->path, strerror(-error),
                        o->manager.user ? "" : reader_refused(-error, ROOT));
    if (systemctl_do(&o->manager, false, "daemon-reload", NULL) != 0) {
        undo(d, &o->manager, before);
        return complain("%s: all undone", u->name);
    }
    if (verify(u, d, library) != 0)
        return undo(d, &o->manager, before);
    interruptible(true);
    return o->restart ? restart(o, u, d, before) : 0;
}

static void conclude(const struct service_order *o, const struct unit *u, const char *before) {
    bool runs = property_is(&u->p, "ActiveState", "active");
    if (o->restart)
        printf("enabled for %s, and restarted where it ran\n", u->name);
    else if (u->template)
        printf("enabled for all instances of %s from their next start\n", u->name);
    else if (runs)
        printf("enabled for %s from its next start; now: systemctl %srestart %s\n", u->name,
               manager_option(&o->manager), u->name);
    else
        printf("enabled for %s from its next start\n", u->name);
    if (before && strstr(before, "UNSTALL_STATS=") && !o->stats)
        printf("it had --stats before, and has no statistics now\n");
    const char *manager = manager_option(&o->manager);
    printf("to watch: unstall status %s%s", manager, u->name);
    if (o->stats && !o->manager.user && !u->template)
        printf("; unstall top %s", u->name);
    printf("\nto undo:  unstall disable %s%s%s\n", manager, o->restart ? "--restart " : "", u->name);
}

static int enable(const struct service_order *o, const struct unit *u, const struct dropin *d,
                  const char *before) {
    const char *library = library_find(o->library);
    if (!library)
        return EXIT_OWN;
    static char listed[PATH_MAX];
    int failed = unit_preflight(u, library, o->stats, o->force, listed);
    FREED char *text = failed ? NULL : compose(o, u, d, before, listed);
    if (!text)
        failed = EXIT_OWN;
    if (!failed) {
        show(d, text);
        fflush(stdout);
    }
    if (!failed && !o->dry_run)
        failed = write_and_reload(o, u, d, text, before, listed);
    if (!failed && !o->dry_run)
        conclude(o, u, before);
    return failed ? failed : finish_output();
}

int service_enable(const struct service_order *o) {
    struct unit u;
    struct dropin d;
    char base[PATH_MAX];
    FREED char *before = NULL;
    int failed = unit_find(&u, &o->manager, o->unit, o->force);
    if (!failed && (!dropin_base(&o->manager, o->runtime, base) || !dropin_place(base, u.name, &d)))
        failed = EXIT_OWN;
    if (!failed) {
        enum dropin_state state = dropin_read(&d, &before);
        if (state == DROPIN_UNREADABLE)
            failed = complain("%s: %s", d.path, strerror(errno));
        else if (state == DROPIN_CHANGED && !o->force)
            failed =
                complain("%s: was changed by hand, or is not from unstall enable; look at it first, "
                         "--force replaces it",
                         d.path);
    }
    if (!failed)
        failed = enable(o, &u, &d, before);
    unit_free(&u);
    return failed;
}
