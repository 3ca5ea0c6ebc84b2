/* SPDX-License-Identifier: MIT
 *
 * Finds the unit of systemd and the container in the path of a cgroup.  Pure, but for
 * scan_container_pid() and scan_cgroup_find().
 */
#ifndef UNSTALL_SCAN_CGROUP_H
#define UNSTALL_SCAN_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SCAN_CGROUP = 1024, SCAN_UNIT = 64, SCAN_CONTAINER = 13 };

/* The path in the text of /proc/PID/cgroup: of the unified hierarchy, or of systemd's own where the
 * unified one has the root only (a hybrid host); "" where there is none. */
void scan_cgroup_path(const char *text, char path[SCAN_CGROUP]);

/* The innermost service or scope of it, "" where there is none. */
void scan_cgroup_unit(const char *path, char unit[SCAN_UNIT]);

/* A name for the unit that later ones of its kind have too.  Each session and each transient unit gets
 * a number of its own; `*` replaces it ("session-*.scope"), so that they share a series. */
void scan_cgroup_lasting_unit(const char *unit, char lasting[SCAN_UNIT]);

/* The first 12 digits of the innermost container's id, which docker, podman, containerd and CRI-O
 * put in the path; "" where there is none. */
void scan_cgroup_container(const char *path, char container[SCAN_CONTAINER]);

/* Is `path` the wanted cgroup, or one within it?  Wanted may be a path, with /sys/fs/cgroup before
 * it or not, or some parts of it ("nginx.service", "system.slice/nginx.service"). */
bool scan_cgroup_matches(const char *path, const char *wanted);

/* True if a running process is in the cgroup that the user names, as scan_cgroup_matches() takes it, and
 * that name in `found`: the word, or the word with ".service".  Otherwise the name of an existing cgroup
 * that is nearly the same in `found`, or "". */
bool scan_cgroup_find(const char *word, char found[SCAN_CGROUP]);

/* A process of the container with this id (its first digits, at least 4) or name, which podman or docker
 * finds; 0: none, and `why`. */
enum { CONTAINER_WHY = 192 };
pid_t scan_container_pid(const char *which, char why[CONTAINER_WHY]);

#endif
