/* SPDX-License-Identifier: MIT
 *
 * Attachments of a build without libbpf, bpftool or clang: there are none.
 */
#include <errno.h>
#include <stdio.h>

#include "attach.h"
#include "own_cgroup.h"

const char *attach_obstacle(void) {
    return "this build is without it (libbpf, bpftool and clang make it)";
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

int own_cgroup_begin(const struct attach_options *o, uint16_t port, char name[ATTACH_NAME],
                     char error[ATTACH_ERROR]) {
    (void)o, (void)port, (void)name;
    snprintf(error, ATTACH_ERROR, "%s", attach_obstacle());
    return -ENOSYS;
}
