/* SPDX-License-Identifier: MIT
 *
 * The way without privilege: copies each TCP socket of a process of the same user by pidfd_getfd(2), and
 * sets TCP_NODELAY on it.  That needs the right to trace the process by ptrace(2).
 */
#ifndef UNSTALL_ATTACH_FETCH_H
#define UNSTALL_ATTACH_FETCH_H

#include "target.h"

struct attach_fetched {
    pid_t pid;
    int pidfd;
    uint16_t port; /* on one side; 0: any */
    struct attach_taken *taken;
    size_t count, cured;
};

/* 0, or -errno with a sentence. */
int attach_fetch_begin(struct attach_fetched *f, pid_t pid, uint16_t port,
                       char error[ATTACH_ERROR]);

/* Cures the connections that are new since the last look.  0 or -errno; -ESRCH: the process has ended. */
int attach_fetch_look(struct attach_fetched *f);

/* A command that cures a process this way, found by its name, which every user may read. */
struct attach_fetching {
    pid_t command, target;
    uint64_t start; /* of the command, as in process_stat.h */
};

/* All of them; free(*list). */
size_t attach_fetchings(struct attach_fetching **list);

/* Restores TCP_NODELAY on the connections that are still open. */
void attach_fetch_end(struct attach_fetched *f);

#endif
