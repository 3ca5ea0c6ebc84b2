/* SPDX-License-Identifier: MIT
 *
 * The drop-in UNIT.d/50-unstall.conf: its place, its text, and how it is written and removed as a whole.
 *
 * The first line has a hash of the rest, which shows a change by hand.  It also has the word "folder" if
 * unstall made the folder, which is then removed with the file.  unstall writes the file under a name that
 * systemd does not read, and renames it: the file is complete or missing, also after SIGKILL.
 */
#ifndef UNSTALL_CLI_DROPIN_H
#define UNSTALL_CLI_DROPIN_H

#include <stdio.h>

#include "unit.h"

#define DROPIN_NAME "50-unstall.conf"

struct dropin {
    char unit[UNIT_ROOM];
    char folder[PATH_MAX];
    char path[PATH_MAX];
};

/* The folder of this manager's units: /etc/systemd/system, with `runtime` /run/systemd/system, or the
 * user's.  False, and a complaint: the user has none. */
bool dropin_base(const struct manager *m, bool runtime, char base[PATH_MAX]);

/* Both: the permanent one, and the one of --runtime if there is one.  Their number; 0, and a complaint: the
 * user has none. */
enum { DROPIN_BASES = 2 };
unsigned dropin_bases(const struct manager *m, char base[DROPIN_BASES][PATH_MAX]);

/* The place of a unit's drop-in.  False, and a complaint: the path is too long. */
bool dropin_place(const char *base, const char *unit, struct dropin *d);

enum dropin_state {
    DROPIN_NONE,
    DROPIN_OURS,
    DROPIN_CHANGED, /* by hand since, or not ours at all */
    DROPIN_UNREADABLE,
};

/* The state of the drop-in.  The caller frees *text; it is NULL if nothing was read. */
enum dropin_state dropin_read(const struct dropin *d, char **text);

/* The whole text from the lines of its section: adds the first line.  The caller frees it; NULL: no
 * memory. */
char *dropin_text(const struct dropin *d, const char *lines);

/* "Environment="NAME=VALUE"", with the quotes and escapes of systemd.syntax(7).  `specifiers`: the value has
 * some, as %t. */
void dropin_variable(FILE *out, const char *name, const char *value, bool specifiers);

/* The value of a variable in such a text, into value[size]; false if it is not there. */
bool dropin_has(const char *text, const char *name, char *value, size_t size);

/* Writes the text, and makes the folder.  dropin_remove: removes the file, and the folder if unstall made it
 * and nothing else is in it.  0, or -errno; then nothing has changed. */
int dropin_write(const struct dropin *d, const char *text);
int dropin_remove(const struct dropin *d);

/* All drop-ins of a base folder, sorted by unit.  The caller frees the list; *count. */
struct dropin *dropin_list(const char *base, size_t *count);

#endif
