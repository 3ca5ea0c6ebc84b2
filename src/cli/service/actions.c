/* SPDX-License-Identifier: MIT
 *
 * The commands that enable and disable give to systemd.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "errors.h"
#include "service.h"

static const char *reason(const struct said *said) {
    return said->code < 0              ? strerror(-said->code)
           : said->text && *said->text ? said->text
                                       : "it failed and said nothing";
}

int service_reload(const struct manager *m) {
    const char *words[] = {"daemon-reload", NULL};
    struct said said = systemctl(m, words);
    int failed = said.code ? complain("systemctl daemon-reload: %s", reason(&said)) : 0;
    free(said.text);
    return failed;
}

void instances_pattern(const char *unit, char pattern[UNIT_ROOM + 1]) {
    const char *at = strstr(unit, "@.");
    snprintf(pattern, UNIT_ROOM + 1, at ? "%.*s@*%s" : "%.*s%s", at ? (int)(at - unit) : UNIT_ROOM,
             unit, at ? at + 1 : "");
}

char *service_running(const struct manager *m, const char *unit) {
    char pattern[UNIT_ROOM + 1], name[UNIT_ROOM];
    instances_pattern(unit, pattern);
    const char *words[] = {
        "list-units", "--plain", "--no-legend", "--state=active,reloading,activating",
        "--",         pattern,   NULL};
    struct said said = systemctl(m, words);
    if (said.code != 0) {
        free(said.text);
        return NULL;
    }
    char *out = said.text; /* the first word of each line, in place */
    for (char *line = said.text, *next; line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        const char *list = line;
        if (list_word(&list, name, sizeof(name)))
            out = stpcpy(stpcpy(out, name), "\n");
    }
    if (out)
        *out = '\0';
    return said.text;
}

bool next_unit(const char **units, char name[UNIT_ROOM]) {
    size_t n = *units ? strcspn(*units, "\n") : 0;
    if (n == 0)
        return false;
    snprintf(name, UNIT_ROOM, "%.*s", (int)n, *units);
    *units += n + ((*units)[n] == '\n');
    return true;
}

int service_restart(const struct manager *m, const char *units) {
    char name[UNIT_ROOM];
    int failed = 0;
    while (next_unit(&units, name)) {
        const char *words[] = {"restart", "--", name, NULL};
        struct said said = systemctl(m, words);
        if (said.code)
            failed = complain("systemctl restart %s: %s", name, reason(&said));
        free(said.text);
    }
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

/* Failed starts count against StartLimitBurst=, which would forbid the start without the library. */
void service_forget_failures(const struct manager *m, const char *units) {
    char name[UNIT_ROOM];
    while (next_unit(&units, name)) {
        const char *words[] = {"reset-failed", "--", name, NULL};
        free(systemctl(m, words).text);
    }
}
