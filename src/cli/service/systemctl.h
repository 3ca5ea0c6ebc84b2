/* SPDX-License-Identifier: MIT
 *
 * systemctl(1), run as a child, and the properties of units that it prints.
 */
#ifndef UNSTALL_CLI_SYSTEMCTL_H
#define UNSTALL_CLI_SYSTEMCTL_H

#include <stdbool.h>
#include <stddef.h>

/* The system's manager, or the calling user's. */
struct manager {
    bool user;
};

/* True if systemd runs here as this manager, so that systemctl can ask it. */
bool manager_runs(const struct manager *m);

/* Runs `systemctl [--user] VERB [OPTION]... [-- UNIT]`; the last option is NULL.  What it says, without a
 * final newline, for free(); NULL: it has failed, and unless `quiet` a complaint says why.  If it does not
 * answer in time it is killed. */
char *systemctl(const struct manager *m, bool quiet, const char *verb, const char *const *options,
                const char *unit);

/* The same without options, where nobody reads what it says.  0 or EXIT_OWN. */
int systemctl_do(const struct manager *m, bool quiet, const char *verb, const char *unit);

/* The lines NAME=VALUE of `systemctl show`.  A property that has several values has several lines. */
struct properties {
    char *text; /* each line ends in '\0' */
    size_t size;
};

/* Properties of a unit.  False, and a complaint: systemctl failed. */
bool properties_read(const struct manager *m, const char *unit, struct properties *p);
void properties_free(struct properties *p);

/* The value, "" if there is none.  property_next: the next value of this name behind `value`, or NULL; begins
 * with value == NULL. */
const char *property(const struct properties *p, const char *name);
const char *property_next(const struct properties *p, const char *name, const char *value);

bool property_is(const struct properties *p, const char *name, const char *value);

/* The next word of a list as systemctl prints it, without its quotes, into word[size]; false at the end. */
bool list_word(const char **list, char *word, size_t size);

/* The value of a variable in such a list of NAME=VALUE, the last one if there are several, into
 * value[size]; false if it is not there. */
bool list_variable(const char *list, const char *name, char *value, size_t size);

/* The same of the environment that the manager gives to all its units. */
bool manager_variable(const struct manager *m, const char *name, char *value, size_t size);

#endif
