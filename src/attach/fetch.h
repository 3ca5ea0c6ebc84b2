/* SPDX-License-Identifier: MIT
 *
 * Without privilege: takes each TCP socket of an own process by pidfd_getfd(2), and sets
 * TCP_NODELAY there.  What may be traced by ptrace(2) may be taken.
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

/* Cures the connections that were not there at the last look.  0 or -errno: -ESRCH, it has ended. */
int attach_fetch_look(struct attach_fetched *f);

/* Puts back what is open still. */
void attach_fetch_end(struct attach_fetched *f);

#endif
