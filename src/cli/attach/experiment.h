/* SPDX-License-Identifier: MIT
 *
 * The measurements of an attachment that is an experiment.
 */
#ifndef UNSTALL_ATTACH_EXPERIMENT_H
#define UNSTALL_ATTACH_EXPERIMENT_H

#include <stdbool.h>

#include "bpf/shared.h"

struct experiment {
    int config, connections, arms; /* descriptors of the maps */
    __u64 looked_ns;               /* when the connections were looked at last */
};

/* Of the attachment with this name.  0 or -errno. */
int experiment_open(struct experiment *e, const char *name);

/* Calls `take` for each connection with news since the last call.  One that has ended is forgotten then. */
void experiment_each(struct experiment *e,
                     void (*take)(void *with, __u64 number, const struct attach_connection *c),
                     void *with);

/* How many connections take part.  Known after the attachment's end too: the maps live as long as we hold
 * them. */
bool experiment_config(const struct experiment *e, struct attach_config *c);

/* The sums of an arm so far. */
bool experiment_arm(const struct experiment *e, unsigned arm, struct attach_arm *sums);

void experiment_close(struct experiment *e);

#endif
