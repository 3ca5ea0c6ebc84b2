/* SPDX-License-Identifier: MIT
 *
 * unstall enable, disable and status: the library in services of systemd.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "launch.h"
#include "service.h"

static void take_setting(struct service_order *o, const char *variable, const char *value) {
    char *copy = strdup(value); /* a completed path is overwritten by the next */
    if (!copy || o->setting_count == SETTINGS_MOST)
        exit(complain("%s=%s: %s", variable, value, copy ? "too many options" : strerror(ENOMEM)));
    o->settings[o->setting_count++] = (struct service_setting){variable, copy};
}

static bool enable_option(struct service_order *o, struct args *a) {
    const char *variable = NULL, *value = NULL;
    const struct args_option plain[] = {
        {"--library", NULL, &o->library},   {"--conf", NULL, &o->conf},
        {"--stats", &o->stats, NULL},       {"--runtime", &o->runtime, NULL},
        {"--user", &o->manager.user, NULL}, {"--dry-run", &o->dry_run, NULL},
        {"--restart", &o->restart, NULL},   {"--force", &o->force, NULL},
        {0}};
    if (args_take(a, plain))
        return true;
    if (!option_setting(a, &variable, &value))
        return false;
    take_setting(o, variable, value);
    return true;
}

static int enable(int argc, char **argv) {
    struct args a = args_begin(&verb_enable, argc, argv);
    static struct service_order o;
    enum args_kind kind;
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_WORD) {
            if (!args_one_word(&a, "UNIT", &o.unit))
                return EXIT_OWN;
        } else if (!enable_option(&o, &a)) {
            return args_unknown(&a);
        }
    }
    return o.unit ? service_enable(&o) : args_no_word("UNIT");
}

const struct verb verb_enable = {
    .name = "enable",
    .summary = "Cure a service of systemd, by a drop-in that disable removes",
    .usage = "[OPTION]... UNIT",
    .help = "  --runtime         until the next boot: in /run, not in /etc\n"
            "  --user            a unit of your own systemd\n"
            "  --dry-run         show what would be written, and write nothing\n"
            "  --restart         restart the unit if it runs\n"
            "  --stats           live statistics of its processes, in a folder of the unit\n"
            "  --mode MODE       off, observe, nodelay, cork, coalesce or auto\n"
            "  --quickack WHEN   off, auto or always: cure the peer's stalls from here\n"
            "  --nodelay WHEN    late or always\n"
            "  --ports LIST      only connections to these ports, as in 80,8000-8999,!8443\n"
            "  --peers LIST      only connections with these peers, as in 10.0.0.0/8,::1\n"
            "  --programs LIST   only in programs of these names, as in python3,!java\n"
            "  --no-children     not in the programs that it starts\n"
            "  --conf FILE       settings from this file, not from /etc/unstall.conf\n"
            "  --library FILE    this libunstall.so instead of the installed one\n"
            "  --force           also where a preload seems not to work\n"
            "\n"
            "Looks at the programs of the unit, its user and its sandbox first, and refuses\n"
            "where the library could not work. Nothing of the vendor's is edited, and\n"
            "nothing is restarted without --restart. The other options of unstall run work\n"
            "too, except --how. foo@.service is the template, for all its instances.\n",
    .run = enable,
};

static int disable(int argc, char **argv) {
    static struct service_order o;
    bool all = false;
    const struct args_option options[] = {{"--all", &all, NULL},
                                          {"--user", &o.manager.user, NULL},
                                          {"--dry-run", &o.dry_run, NULL},
                                          {"--restart", &o.restart, NULL},
                                          {"--force", &o.force, NULL},
                                          {0}};
    if (!args_all(&verb_disable, argc, argv, options, "UNIT", &o.unit))
        return EXIT_OWN;
    if (all && o.unit)
        return complain("--all and %s: choose one of them", o.unit);
    return all || o.unit ? service_disable(&o) : args_no_word("UNIT or --all");
}

const struct verb verb_disable = {
    .name = "disable",
    .summary = "Undo enable, for a service or for all",
    .usage = "[OPTION]... UNIT|--all",
    .help = "  --all      all units that enable has touched\n"
            "  --user     units of your own systemd\n"
            "  --dry-run  show what would be removed, and remove nothing\n"
            "  --restart  restart the units that run\n"
            "  --force    also a drop-in that was changed by hand\n"
            "\n"
            "Running processes keep the library until their next restart. This works\n"
            "without systemd, and for units that exist no more.\n",
    .run = disable,
};

static int status(int argc, char **argv) {
    struct manager m = {0};
    const char *unit = NULL;
    bool json = false;
    const struct args_option options[] = {{"--user", &m.user, NULL}, {"--json", &json, NULL}, {0}};
    if (!args_all(&verb_status, argc, argv, options, "UNIT", &unit))
        return EXIT_OWN;
    return service_status(&m, unit, json);
}

const struct verb verb_status = {
    .name = "status",
    .summary = "Tell what is cured on this machine, and whether it stalls",
    .usage = "[--user] [--json] [UNIT]",
    .help = "  --user  units of your own systemd\n"
            "  --json  all of it, for programs; the form is in the manual\n"
            "\n"
            "Of each unit: its drop-in, the mode, in how many of its processes the library\n"
            "is loaded, and what their statistics say; without UNIT, also other processes\n"
            "with the library, programs under the supervisor of unstall run, and what\n"
            "unstall attach cures, each with the command that undoes it. Exit codes: 0 all\n"
            "units are as enabled, 1 the unit has no drop-in or a process of it runs without\n"
            "the library, 125 the command failed.\n",
    .run = status,
};
