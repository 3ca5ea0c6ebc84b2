/* SPDX-License-Identifier: MIT
 *
 * Which process has a socket, by /proc/PID/fd: those that the caller may look at.
 */
#ifndef UNSTALL_SCAN_OWNERS_H
#define UNSTALL_SCAN_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup.h"

enum { SCAN_PROGRAM = 64, SCAN_COMMAND = 128 };

struct scan_process {
    pid_t pid;
    char program[SCAN_PROGRAM]; /* the file's last part; "" where it is gone or not ours */
    char command[SCAN_COMMAND]; /* as it was started, cut */
    char cgroup[SCAN_CGROUP];
    char unit[SCAN_UNIT];           /* of systemd; \"\": none */
    char container[SCAN_CONTAINER]; /* the beginning of its id; \"\": none */
};

struct scan_owner {
    uint64_t inode;
    struct scan_process process; /* as it was when it was found; pid 0: not found */
    bool sought;                 /* in a walk through /proc */
};

/* Fill in the process of each that has none; `owners` gets sorted by inode.  One walk through
 * /proc, which looks at no more descriptors than *left, and counts them off.  False: it came to
 * that end before all were found. */
bool scan_owners_find(struct scan_owner *owners, size_t count, size_t *left);
void scan_owners_sort(struct scan_owner *owners, size_t count);
int scan_owner_order(const void *a, const void *b);

/* The process that has it; NULL: not known. */
const struct scan_process *scan_owner_of(const struct scan_owner *owners, size_t count,
                                         uint64_t inode);

void scan_process_of(pid_t pid, struct scan_process *p);

#endif
