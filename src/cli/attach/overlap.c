/* SPDX-License-Identifier: MIT */
#include "overlap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cgroup is below itself too. */
static bool is_below(const char *path, const char *above) {
    size_t length = strlen(above);
    return strncmp(path, above, length) == 0 && (path[length] == '/' || !path[length]);
}

bool attach_overlap(const struct attach_config *a, const struct attach_config *b) {
    if (a->port && b->port && a->port != b->port)
        return false;
    if (a->pid && b->pid)
        return a->pid == b->pid && a->pid_start == b->pid_start;
    return (!b->pid && is_below(a->path, b->path)) || (!a->pid && is_below(b->path, a->path));
}

static bool disturbs(const char *name, const struct attach_config *c, const struct attach_state *s) {
    const struct attach_config *other = &s->config;
    if (!s->known || strcmp(s->name, name) == 0 || !(c->experiment.arms || other->experiment.arms))
        return false;
    if (other->pid && attach_start_of(other->pid) != other->pid_start)
        return false; /* the process has ended */
    return attach_overlap(c, other);
}

int attach_refuse_overlap(const char *name, const struct attach_config *c, char error[ATTACH_ERROR]) {
    struct attach_state *list = NULL;
    size_t count = 0;
    int failed = attach_list(&list, &count, error);
    for (size_t i = 0; i < count && !failed; i++)
        if (disturbs(name, c, &list[i])) {
            snprintf(error, ATTACH_ERROR,
                     "%s: shares connections with %s (%s), and an experiment shares none; "
                     "`unstall detach %s` ends that",
                     c->target, list[i].config.target,
                     list[i].config.experiment.arms ? "an experiment" : "attached", list[i].name);
            failed = -EBUSY;
        }
    free(list);
    return failed;
}
