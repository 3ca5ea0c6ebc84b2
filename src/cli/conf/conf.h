/* SPDX-License-Identifier: MIT
 *
 * The settings of a machine: /etc/unstall.conf, then /etc/unstall.conf.d/NAME.conf, see unstall.conf(5).
 *
 * The command reads them and turns them into the environment of a program or a unit; the library does not.
 */
#ifndef UNSTALL_CLI_CONF_H
#define UNSTALL_CLI_CONF_H

#include <stddef.h>

#define CONF_FILE   "/etc/unstall.conf"
#define CONF_FOLDER "/etc/unstall.conf.d"

struct conf_setting {
    char *variable, *value; /* "UNSTALL_MODE", "cork" */
    char *place;            /* "/etc/unstall.conf:3" */
};

struct conf {
    size_t count;
    struct conf_setting *settings; /* a variable once: the last line wins */
};

/* Reads the settings for a program or unit that has these names.  `file`: this file instead of those in /etc.
 * 0, or EXIT_OWN and a complaint for each bad line, also of other programs. */
int conf_read(struct conf *c, const char *file, const char *const *names, size_t count);
void conf_free(struct conf *c);

#endif
