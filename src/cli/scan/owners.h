/* SPDX-License-Identifier: MIT
 *
 * Finds the process of a socket in /proc/PID/fd, as far as the caller may read it.
 */
#ifndef UNSTALL_SCAN_OWNERS_H
#define UNSTALL_SCAN_OWNERS_H

#include <stdint.h>

#include "cgroup.h"

enum { SCAN_PROGRAM = 64, SCAN_COMMAND = 128 };

struct scan_process {
    pid_t pid;
    char program[SCAN_PROGRAM]; /* last part of the file's path; "": it cannot be read */
    char command[SCAN_COMMAND]; /* its command line, cut */
    char cgroup[SCAN_CGROUP];
    char unit[SCAN_UNIT];           /* of systemd; "": none */
    char container[SCAN_CONTAINER]; /* the first digits of its id; "": none */
};

struct scan_owner {
    uint64_t inode;
    struct scan_process process; /* as it was when it was found; pid 0: not found */
    bool sought;                 /* a complete walk through /proc has looked for it */
};

/* Fills in the processes that are missing, by one walk through /proc; sorts `owners` by inode.  The
 * walk reads at most *left descriptors and subtracts them from *left.  False: the descriptors were
 * used up before all sockets were found. */
bool scan_owners_find(struct scan_owner *owners, size_t count, size_t *left);
void scan_owners_sort(struct scan_owner *owners, size_t count);

/* The owner of the socket with this inode, if it is among the sorted ones; NULL: it is not, or inode is 0.
 * scan_owner_of: its process; NULL: not known. */
struct scan_owner *scan_owner_find(struct scan_owner *owners, size_t count, uint64_t inode);
const struct scan_process *scan_owner_of(struct scan_owner *owners, size_t count, uint64_t inode);

void scan_process_of(pid_t pid, struct scan_process *p);

/* False in a PID namespace of a container: BPF programs get the ids of the host, /proc has others. */
bool scan_pids_are_the_hosts(void);

#endif
