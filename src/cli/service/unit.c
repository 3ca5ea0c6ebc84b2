/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "args.h"
#include "errors.h"

#define SERVICE ".service"

const char *manager_option(const struct manager *m) {
    return m->user ? "--user " : "";
}

/* Complains that systemd does not run as this manager.  Returns EXIT_OWN. */
static int manager_missing(const struct manager *m) {
    if (m->user)
        return complain(
            "no systemd of your own runs here (no $XDG_RUNTIME_DIR/systemd); log in as the "
            "user, or leave out --user for units of the system");
    return complain(
        "systemd does not run here (no /run/systemd/system); start the program by unstall "
        "run, or set LD_PRELOAD where it is started");
}

/* ---- names ----------------------------------------------------------- */

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static const char *kind_of(const char *name) {
    static const char *const kinds[] = {".socket", ".device", ".mount", ".automount", ".swap",
                                        ".target", ".path",   ".timer", ".slice",     ".scope"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (ends_in(name, kinds[i]))
            return kinds[i];
    return NULL;
}

int unit_name(const char *word, char name[UNIT_ROOM]) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";
    long pid;
    if (is_number(word, 1, LONG_MAX, &pid))
        return complain("%s: is no name of a unit; of a process: unstall doctor %s", word, word);
    int n = snprintf(name, UNIT_ROOM, "%s%s", word,
                     ends_in(word, SERVICE) || kind_of(word) ? "" : SERVICE);
    if (!word[0] || n >= UNIT_ROOM || word[strspn(word, allowed)] || word[0] == '@' ||
        word[0] == '.')
        return complain("%s: is no name of a unit; expected one as in nginx, nginx.service or "
                        "worker@1.service",
                        word);
    return 0;
}

/* ---- the unit -------------------------------------------------------- */

static int no_service(const struct unit *u, const char *kind) {
    struct properties p = {0};
    char first[UNIT_ROOM] = "";
    if (strcmp(kind, ".socket") == 0 && properties_read(&u->manager, u->name, &p)) {
        const char *list = property(&p, "Triggers");
        list_word(&list, first, sizeof(first));
    }
    properties_free(&p);
    char *instance = strchr(first, '@'); /* Accept=yes: a new instance for each connection */
    if (instance)
        snprintf(instance, UNIT_ROOM - (size_t)(instance - first), "@" SERVICE);
    if (first[0])
        return complain("%s: is a socket, which has no process; name its service: %s", u->name,
                        first);
    return complain("%s: is no service; expected NAME or NAME.service", u->name);
}

static int not_found(const struct unit *u) {
    struct manager other = {.user = !u->manager.user};
    struct properties p = {0};
    bool there = manager_runs(&other) && properties_read(&other, u->asked, &p) &&
                 property_is(&p, "LoadState", "loaded");
    properties_free(&p);
    if (there)
        return complain("%s: is a unit of %s; %s --user", u->name,
                        other.user ? "your own systemd" : "the system",
                        other.user ? "add" : "leave out");
    return complain("%s: no such unit; systemctl %slist-units --type=service lists them", u->name,
                    manager_option(&u->manager));
}

static int judge(const struct unit *u, bool force) {
    const char *state = property(&u->p, "LoadState");
    const char *source = property(&u->p, "SourcePath");
    if (strcmp(state, "not-found") == 0)
        return not_found(u);
    if (strcmp(state, "masked") == 0)
        return complain("%s: is masked and cannot start; first: systemctl %sunmask %s", u->name,
                        manager_option(&u->manager), u->name);
    if (strcmp(state, "loaded") != 0)
        return complain("%s: systemd could not load it (%s): %s", u->name, state,
                        property(&u->p, "LoadError"));
    if (property_is(&u->p, "Transient", "yes"))
        return complain(
            "%s: is transient: it is gone when it ends; start it anew as systemd-run ... "
            "unstall run -- PROGRAM",
            u->name);
    if (!force && (property_is(&u->p, "UnitFileState", "generated") ||
                   strstr(property(&u->p, "FragmentPath"), "/systemd/generator")))
        return complain(
            "%s: is generated%s%s at each reload, maybe differently; --force enables it all "
            "the same",
            u->name, source[0] ? " from " : "", source);
    return 0;
}

int unit_find(struct unit *u, const struct manager *m, const char *word, bool force) {
    memset(u, 0, sizeof(*u));
    u->manager = *m;
    int failed = unit_name(word, u->name);
    if (failed)
        return failed;
    if (!manager_runs(m))
        return manager_missing(m);
    const char *kind = kind_of(u->name);
    if (kind)
        return no_service(u, kind);
    u->template = ends_in(u->name, "@" SERVICE);
    snprintf(u->asked, sizeof(u->asked), "%s", u->name);
    if (u->template && (size_t)snprintf(u->asked, sizeof(u->asked), "%.*s@unstall" SERVICE,
                                        (int)(strlen(u->name) - sizeof("@" SERVICE) + 1),
                                        u->name) >= sizeof(u->asked))
        return complain("%s: its name is too long", u->name);
    if (!properties_read(m, u->asked, &u->p))
        return EXIT_OWN;
    failed = judge(u, force);
    if (!failed && !u->template)
        snprintf(u->name, sizeof(u->name), "%s", property(&u->p, "Id"));
    if (!failed && !u->template && strcmp(u->name, u->asked) != 0) {
        remark("%s is another name of %s", u->asked, u->name);
        snprintf(u->asked, sizeof(u->asked), "%s", u->name);
    }
    return failed;
}

void unit_free(struct unit *u) {
    properties_free(&u->p);
}

/* ---- what enable and disable have systemd do ------------------------- */

/* "foo@*.service" for a template; any other name as it is. */
static void instances_pattern(const char *unit, char pattern[UNIT_ROOM + 1]) {
    const char *at = strstr(unit, "@.");
    snprintf(pattern, UNIT_ROOM + 1, at ? "%.*s@*%s" : "%.*s%s", at ? (int)(at - unit) : UNIT_ROOM,
             unit, at ? at + 1 : "");
}

char *service_running(const struct manager *m, const char *unit) {
    char pattern[UNIT_ROOM + 1], name[UNIT_ROOM];
    instances_pattern(unit, pattern);
    static const char *const options[] = {"--plain", "--no-legend",
                                          "--state=active,reloading,activating", NULL};
    char *said = systemctl(m, true, "list-units", options, pattern);
    char *out = said; /* the first word of each line, in place */
    for (char *line = said, *next; line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        const char *list = line;
        if (list_word(&list, name, sizeof(name)))
            out = stpcpy(stpcpy(out, name), "\n");
    }
    if (out)
        *out = '\0';
    return said;
}

bool next_unit(const char **units, char name[UNIT_ROOM]) {
    size_t n = *units ? strcspn(*units, "\n") : 0;
    if (n == 0)
        return false;
    snprintf(name, UNIT_ROOM, "%.*s", (int)n, *units);
    *units += n + ((*units)[n] == '\n');
    return true;
}

int service_each(const struct manager *m, bool quiet, const char *verb, const char *units) {
    char name[UNIT_ROOM];
    int failed = 0;
    while (next_unit(&units, name))
        failed |= systemctl_do(m, quiet, verb, name);
    return failed;
}

/* systemd calls a service of Type=simple started even if its program ends at once.  Half a second is enough
 * for the dynamic linker to fail, and for most programs that end with an error at their start. */
int service_check_running(const struct manager *m, const char *units) {
    const struct timespec moment = {.tv_nsec = 500000000};
    char name[UNIT_ROOM];
    int failed = 0;
    nanosleep(&moment, NULL);
    while (next_unit(&units, name)) {
        struct properties p = {0};
        if (properties_read(m, name, &p) && (property_is(&p, "ActiveState", "failed") ||
                                             property_is(&p, "SubState", "auto-restart") ||
                                             strtoul(property(&p, "NRestarts"), NULL, 10) > 0))
            failed = complain("%s: has ended at once", name);
        properties_free(&p);
    }
    return failed;
}
