/* SPDX-License-Identifier: MIT */
#include "attach_words.h"

#include <limits.h>

#include "errors.h"

int attach_option(struct args *a, struct attach_wish *w) {
    const char *value = NULL;
    long number = 0;
    if (args_value(a, "--cgroup", &value))
        w->cgroup = value;
    else if (args_value(a, "--unit", &value))
        w->unit = value;
    else if (args_value(a, "--container", &value))
        w->container = value;
    else if (args_flag(a, "--all"))
        w->all = true;
    else if (!args_value(a, "--port", &value))
        return -1;
    else if (!number_of("--port", value, 1, UINT16_MAX, &number))
        return EXIT_OWN;
    else
        w->port = (uint16_t)number;
    return 0;
}

int attach_process(const struct args *a, struct attach_wish *w, const char *expected) {
    long number = 0;
    if (w->pid)
        return complain("%s: one PID at a time; try --help", a->word);
    if (!is_number(a->word, 1, INT_MAX, &number))
        return complain("%s: expected the id of a process, %s", a->word, expected);
    w->pid = (pid_t)number;
    return 0;
}

int attach_targets(const struct attach_wish *w) {
    int named =
        (w->pid != 0) + (w->cgroup != NULL) + (w->unit != NULL) + (w->container != NULL) + w->all;
    return named == 0 && w->port ? 1 : named;
}
