/* SPDX-License-Identifier: MIT
 *
 * A build without libbpf, bpftool or clang has no attachments.
 */
#include <errno.h>
#include <stdio.h>

#include "attach.h"

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

void attach_look(const char *name, struct attach_state *s) {
    (void)name;
    *s = (struct attach_state){.there = false};
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

bool experiment_tell(struct experiment *e, const volatile sig_atomic_t *stop) {
    (void)e, (void)stop;
    return false;
}

void experiment_close(struct experiment *e) {
    (void)e;
}
