/* SPDX-License-Identifier: MIT
 *
 * The library in services of systemd: enable, disable, status.
 */
#ifndef UNSTALL_CLI_SERVICE_H
#define UNSTALL_CLI_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "unit.h"

enum { SETTINGS_MOST = 32 };

struct service_setting {
    const char *variable, *value;
};

struct service_order {
    struct manager manager;
    const char *unit;    /* as typed */
    const char *library; /* --library, or NULL */
    const char *conf;    /* --conf, or NULL */
    bool stats, runtime, dry_run, restart, force;
    size_t setting_count;
    struct service_setting settings[SETTINGS_MOST]; /* of the command line */
};

/* Writes the drop-in of a unit, after the preflight.  0, or EXIT_OWN and a complaint; then nothing has
 * changed. */
int service_enable(const struct service_order *o);

/* Removes it; `unit` NULL: of all units.  0, or EXIT_OWN and a complaint for each that stays. */
int service_disable(const struct service_order *o);

/* Prints which units have the library, or one of them, as text or JSON.
 * 0, 1 (the unit, or a process of one, is without
 * it) or EXIT_OWN. */
int service_status(const struct manager *m, const char *unit, bool json);

/* Has systemd read its units again.  0, or EXIT_OWN and a complaint. */
int service_reload(const struct manager *m);

/* The unit if it runs, or the running instances of a template, a name a line; the caller frees the text.
 * service_restart restarts these: 0, or EXIT_OWN and a complaint for each that fails. */
char *service_running(const struct manager *m, const char *unit);
int service_restart(const struct manager *m, const char *units);

/* 0 if they still run half a second later, else EXIT_OWN and a complaint for each that does not. */
int service_check_running(const struct manager *m, const char *units);

/* Resets systemd's count of their failed starts. */
void service_forget_failures(const struct manager *m, const char *units);

/* The next of these names; false at the end. */
bool next_unit(const char **units, char name[UNIT_ROOM]);

/* "foo@*.service" for a template; any other name as it is. */
void instances_pattern(const char *unit, char pattern[UNIT_ROOM + 1]);

/* Removes the statistics folder of a unit that does not use it any more.  systemd does so when a unit stops,
 * but not if the drop-in is gone by then. */
void service_forget_stats(const struct manager *m, const char *unit);

#endif
