/* SPDX-License-Identifier: MIT
 *
 * What is to be cured: a cgroup of version 2, of it all sockets, or those of one process or port.
 */
#ifndef UNSTALL_ATTACH_TARGET_H
#define UNSTALL_ATTACH_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/shared.h"

enum { ATTACH_NAME = 64, ATTACH_ERROR = 512 };

/* What the user has named; one of the first four, or `all`, or a port alone. */
struct attach_wish {
    pid_t pid;
    const char *cgroup, *unit, *container;
    bool all;
    uint16_t port;
};

struct attach_target {
    pid_t pid; /* 0: the whole cgroup */
    uint16_t port;
    uint64_t cgroup;
    bool whole_host;
    bool own_cgroup; /* made for one program */
    char path[ATTACH_CGROUP];
    char name[ATTACH_NAME];   /* of its folder: bpffs takes no dots */
    char text[ATTACH_TARGET]; /* as the user calls it */
};

/* 0, or -errno with a sentence. */
int attach_find(const struct attach_wish *w, struct attach_target *t, char error[ATTACH_ERROR]);

/* The new cgroup of `unstall run` for a process, below the one that it is in.  It is not made yet. */
int attach_find_new(pid_t pid, uint16_t port, struct attach_target *t, char error[ATTACH_ERROR]);

/* Only `name` and `text`, which need neither the process nor the cgroup to be there still.  False
 * for a cgroup, a unit or a container, which only a look can name. */
bool attach_name(const struct attach_wish *w, struct attach_target *t);

/* Is the process in this cgroup, a folder of the mount, or below it? */
bool attach_is_below(pid_t pid, const char *folder);

/* When a process was started, in clock ticks after boot; 0: there is none. */
uint64_t attach_start_of(pid_t pid);

#endif
