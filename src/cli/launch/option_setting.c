/* SPDX-License-Identifier: MIT */
#include "option_setting.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "config.h"
#include "errors.h"

static const struct {
    const char *option, *variable;
    const char *fixed; /* the value of an option that takes none */
    bool is_path;
} settings[] = {
    {"--mode", "UNSTALL_MODE", NULL, false},
    {"--window", "UNSTALL_WINDOW_US", NULL, false},
    {"--small", "UNSTALL_SMALL", NULL, false},
    {"--thread", "UNSTALL_THREAD", NULL, false},
    {"--nodelay", "UNSTALL_NODELAY", NULL, false},
    {"--quickack", "UNSTALL_QUICKACK", NULL, false},
    {"--override", "UNSTALL_OVERRIDE", "1", false},
    {"--ports", "UNSTALL_PORTS", NULL, false},
    {"--peers", "UNSTALL_PEERS", NULL, false},
    {"--programs", "UNSTALL_PROGRAMS", NULL, false},
    {"--no-children", "UNSTALL_CHILDREN", "0", false},
    {"--stats", "UNSTALL_STATS", NULL, true},
    {"--no-stacks", "UNSTALL_STACKS", "0", false},
    {"--report", "UNSTALL_REPORT", NULL, true},
    {"--log", "UNSTALL_LOG", NULL, true},
    {"--verbose", "UNSTALL_VERBOSE", NULL, false},
};

/* An absolute path: the program may change its folder before it writes there. */
static const char *whole_path(const char *value) {
    static char whole[2 * PATH_MAX];
    char here[PATH_MAX];
    if (!value[0] || value[0] == '/' || strcmp(value, "stderr") == 0 || !getcwd(here, sizeof(here)))
        return value;
    snprintf(whole, sizeof(whole), "%s/%s", here, value);
    return whole;
}

/* Checks by the library's own parser, so that both accept the same values. */
static void check(const char *option, const char *variable, const char *value) {
    static struct config scratch;
    const char *expected = NULL;
    enum config_result result = config_set(&scratch, variable, value, &expected);
    if (result == CONFIG_BAD)
        exit(complain("%s %s: expected %s", option, value, expected));
    if (result == CONFIG_UNKNOWN)
        exit(complain("%s: this build does not know %s", option, variable));
}

bool option_setting(struct args *a, const char **variable, const char **value) {
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        *value = settings[i].fixed;
        bool taken =
            *value ? args_flag(a, settings[i].option) : args_value(a, settings[i].option, value);
        if (!taken)
            continue;
        if (settings[i].is_path)
            *value = whole_path(*value);
        check(settings[i].option, settings[i].variable, *value);
        *variable = settings[i].variable;
        return true;
    }
    return false;
}
