/* SPDX-License-Identifier: MIT
 *
 * What the path of a cgroup tells: the unit of systemd, the container.  Pure, but for
 * scan_container_pid().
 */
#ifndef UNSTALL_SCAN_CGROUP_H
#define UNSTALL_SCAN_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SCAN_CGROUP = 256, SCAN_UNIT = 64, SCAN_CONTAINER = 13 };

/* The path in the text of /proc/PID/cgroup: of the unified hierarchy, or, where nothing is in
 * that one (a hybrid host), of systemd's own; "" where there is none. */
void scan_cgroup_path(const char *text, char path[SCAN_CGROUP]);

/* The innermost service or scope of it, "" where there is none. */
void scan_cgroup_unit(const char *path, char unit[SCAN_UNIT]);

/* The unit as a name that lasts: that of a session or of a transient unit has a number that no other
 * one gets again ("session-*.scope"). */
void scan_cgroup_lasting_unit(const char *unit, char lasting[SCAN_UNIT]);

/* The first 12 digits of the innermost container's id, as docker, podman, containerd and CRI-O
 * put it there; "" where there is none. */
void scan_cgroup_container(const char *path, char container[SCAN_CONTAINER]);

/* Is `path` the wanted cgroup, or one within it?  Wanted may be a path, with /sys/fs/cgroup before
 * it or not, or the name of one part of it ("nginx.service"). */
bool scan_cgroup_matches(const char *path, const char *wanted);

/* A process of the container with this id (its beginning, 4 digits at least) or name; 0: none.
 * Names are asked of podman or docker. */
pid_t scan_container_pid(const char *which);

#endif
