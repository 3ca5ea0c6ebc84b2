/* SPDX-License-Identifier: MIT
 *
 * A build without libbpf, bpftool or clang has no attachments.
 */
#include <errno.h>
#include <stdio.h>

#include "attach.h"
#include "experiment.h"

const char *attach_obstacle(void) {
    return "this build has no BPF programs; build it with clang, bpftool and libbpf (scripts/setup "
           "--full)";
}

int attach_begin(const struct attach_target *t, const struct attach_options *o,
                 char error[ATTACH_ERROR]) {
    (void)t, (void)o;
    snprintf(error, ATTACH_ERROR, "%s", attach_obstacle());
    return -ENOSYS;
}

int attach_end(const char *name, char error[ATTACH_ERROR]) {
    (void)name;
    snprintf(error, ATTACH_ERROR, "%s", attach_obstacle());
    return -ENOSYS;
}

bool attach_is_there(const char *name) {
    (void)name;
    return false;
}

int attach_look(const char *name, struct attach_state *s) {
    (void)name, (void)s;
    return -ENOSYS;
}

int attach_list(struct attach_state **list, size_t *count, char error[ATTACH_ERROR]) {
    (void)list, (void)count;
    snprintf(error, ATTACH_ERROR, "%s", attach_obstacle());
    return -ENOSYS;
}

int experiment_open(struct experiment *e, const char *name) {
    (void)e, (void)name;
    return -ENOSYS;
}

void experiment_each(struct experiment *e,
                     void (*take)(void *with, __u64 number, const struct attach_connection *c),
                     void *with) {
    (void)e, (void)take, (void)with;
}

bool experiment_config(const struct experiment *e, struct attach_config *c) {
    (void)e, (void)c;
    return false;
}

bool experiment_arm(const struct experiment *e, unsigned arm, struct attach_arm *sums) {
    (void)e, (void)arm, (void)sums;
    return false;
}

void experiment_close(struct experiment *e) {
    (void)e;
}
