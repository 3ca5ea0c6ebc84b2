/* SPDX-License-Identifier: MIT */
#include "in_cgroup.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "errors.h"
#include "inherited.h"
#include "own_cgroup.h"

/* The value of UNSTALL_PORTS if it is a single port; 0: it is not. */
static uint16_t one_port(void) {
    const char *value = getenv("UNSTALL_PORTS");
    if (!value || value[0] < '0' || value[0] > '9')
        return 0;
    char *behind;
    unsigned long port = strtoul(value, &behind, 10);
    return *behind == '\0' && port <= UINT16_MAX ? (uint16_t)port : 0;
}

bool in_cgroup_suits_better(void) {
    return one_port() != 0;
}

int in_cgroup_check(const struct launch *l, const char *why) {
    static const char *const choices[] = {"UNSTALL_PORTS", "UNSTALL_PEERS", "UNSTALL_PROGRAMS"};
    const char *mode = getenv("UNSTALL_MODE");
    if (mode && (strcmp(mode, "off") == 0 || strcmp(mode, "observe") == 0))
        return complain("%s: %s; the BPF programs cure and have no mode %s; leave the mode out "
                        "(--force runs it cured)",
                        l->argv[0], why, mode);
    for (size_t i = one_port() ? 1 : 0; i < ARRAY_SIZE(choices); i++) {
        const char *value = getenv(choices[i]);
        if (value && *value)
            return complain("%s: %s; the BPF programs cure all connections or one port, and cannot "
                            "obey %s=%s; unset it (--force ignores it)",
                            l->argv[0], why, choices[i], value);
    }
    return 0;
}

/* As the library's UNSTALL_NODELAY. */
static int mode(void) {
    const char *when = getenv("UNSTALL_NODELAY");
    return when && strcmp(when, "late") == 0 ? ATTACH_LATE : ATTACH_ALWAYS;
}

static long verbosity(void) {
    const char *level = getenv("UNSTALL_VERBOSE");
    return level ? strtol(level, NULL, 10) : 0;
}

int in_cgroup_begin(const struct launch *l, const char *why) {
    const struct attach_options options = {.mode = mode(), .verbose = (int)verbosity()};
    char name[ATTACH_NAME], error[ATTACH_ERROR] = "";
    const char *obstacle = attach_obstacle();
    int code = 0;
    if (obstacle)
        code = complain("%s: %s; BPF programs cannot be loaded: %s", l->argv[0], why, obstacle);
    else if (own_cgroup_begin(&options, one_port(), name, error) != 0)
        code = complain("%s: %s; %s", l->argv[0], why, error);
    if (code)
        return l->force ? 0 : code;
    inherited_cure(); /* their sockets belong to another cgroup */
    if (verbosity() > 0)
        remark("%s: %s; it runs in a cgroup of its own (%s), where BPF programs set TCP_NODELAY on "
               "its connections",
               l->argv[0], why, name);
    return 0;
}
