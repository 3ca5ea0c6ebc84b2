/* SPDX-License-Identifier: MIT
 *
 * The target of an attachment: a cgroup of version 2; all its sockets, or the sockets of one process or port.
 */
#ifndef UNSTALL_ATTACH_TARGET_H
#define UNSTALL_ATTACH_TARGET_H

#include <sys/types.h>

#include "bpf/shared.h"

enum { ATTACH_NAME = 64, ATTACH_ERROR = 2560, ATTACH_UNIT = 256 /* as UNIT_NAME_MAX of systemd */ };

/* The target as the user named it, of one kind; 0: a port alone.  Those from WISH_CGROUP on have a name. */
enum { WISH_ALL = 1, WISH_PROCESS = 2, WISH_CGROUP = 4, WISH_UNIT = 8, WISH_CONTAINER = 16 };
struct attach_wish {
    int kind;
    const char *name;
    char unit[ATTACH_UNIT]; /* nginx.service */
    pid_t pid;
    uint16_t port;
};

struct attach_target {
    pid_t pid; /* 0: the whole cgroup */
    uint16_t port;
    uint64_t cgroup;
    bool whole_host;
    char path[ATTACH_CGROUP];
    char name[ATTACH_NAME];   /* of its folder: bpffs takes no dots */
    char text[ATTACH_TARGET]; /* as the user calls it */
};

/* 0, or -errno with a sentence. */
int attach_find(const struct attach_wish *w, struct attach_target *t, char error[ATTACH_ERROR]);

/* Fills in `name` and `text` only; the process need not exist any more.  False for a cgroup, a unit or a
 * container: their names depend on a look at the cgroup. */
bool attach_name(const struct attach_wish *w, struct attach_target *t);

/* True if this cgroup still is at this folder.  A unit of systemd that was started again has another cgroup
 * at the same folder. */
bool attach_has_cgroup(const char *folder, uint64_t cgroup);

/* True of a path below this one, and of itself. */
bool attach_path_is_below(const char *path, const char *above);

/* True if the process is in the cgroup of this folder, or below it. */
bool attach_is_below(pid_t pid, const char *folder);

/* "always", "proof" or "of an experiment" */
const char *attach_mode_name(const struct attach_config *c);

/* The start time of a process, in clock ticks after boot; 0: there is no such process. */
uint64_t attach_start_of(pid_t pid);

#endif
