/* SPDX-License-Identifier: MIT
 *
 * A service of systemd: from the name that the user types to its properties.
 */
#ifndef UNSTALL_CLI_UNIT_H
#define UNSTALL_CLI_UNIT_H

#include <limits.h>

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

/* Checks that the library can work in a service (preflight.c): its programs, its user, and the files and
 * system calls that its sandbox permits.  0, or EXIT_OWN and a complaint about the first obstacle.
 * `force`: obstacles are remarks.  `stats`: a statistics folder is wanted too.  `listed`: how LD_PRELOAD of
 * the unit names the library. */
int unit_preflight(const struct unit *u, const char *library, bool stats, bool force,
                   char listed[PATH_MAX]);

/* The path of the program of an ExecStart= value, into path[size]; false if there is none. */
bool exec_path(const char *exec, char *path, size_t size);

/* "" or "--user ", for commands in messages. */
const char *manager_option(const struct manager *m);

/* The unit if it runs, or the running instances of a template, a name a line; the caller frees the text.
 * service_each does something with these, as systemctl_do(). */
char *service_running(const struct manager *m, const char *unit);
int service_each(const struct manager *m, bool quiet, const char *verb, const char *units);

/* 0 if they still run half a second later, else EXIT_OWN and a complaint for each that does not. */
int service_check_running(const struct manager *m, const char *units);

/* The next of these names; false at the end. */
bool next_unit(const char **units, char name[UNIT_ROOM]);

#endif
