/* SPDX-License-Identifier: MIT
 *
 * The library in services of systemd: enable, disable, status.
 */
#ifndef UNSTALL_CLI_SERVICE_H
#define UNSTALL_CLI_SERVICE_H

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
 * 0, 1 (the unit, or a process of one, is without it) or EXIT_OWN. */
int service_status(const struct manager *m, const char *unit, bool json);

/* Removes the statistics folder of a unit that does not use it any more.  systemd does so when a unit stops,
 * but not if the drop-in is gone by then. */
void service_forget_stats(const struct manager *m, const char *unit);

#endif
