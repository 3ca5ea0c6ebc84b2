/* SPDX-License-Identifier: MIT
 *
 * A service of systemd: from the name that the user types to its properties.
 */
#ifndef UNSTALL_CLI_UNIT_H
#define UNSTALL_CLI_UNIT_H

#include <stdbool.h>

#include "systemctl.h"

enum { UNIT_ROOM = 256 /* as UNIT_NAME_MAX of systemd */ };

struct unit {
    struct manager manager;
    bool template;         /* foo@.service: its properties come from a made-up instance */
    char name[UNIT_ROOM];  /* "foo.service", "foo@x.service", "foo@.service" */
    char asked[UNIT_ROOM]; /* the same, or the made-up instance */
    struct properties p;
};

/* Completes and checks a name: "nginx" becomes "nginx.service".  0, or EXIT_OWN and a complaint. */
int unit_name(const char *word, char name[UNIT_ROOM]);

/* Finds the unit and reads its properties; an alias is replaced by the unit's own name.  0, or EXIT_OWN and
 * a complaint: no systemd, no such unit, masked, transient, or (without `force`) generated. */
int unit_find(struct unit *u, const struct manager *m, const char *word, bool force);
void unit_free(struct unit *u);

/* Complains that systemd does not run as this manager.  Returns EXIT_OWN. */
int manager_missing(const struct manager *m);

/* "" or "--user ", for commands in messages. */
const char *manager_option(const struct manager *m);

#endif
