/* SPDX-License-Identifier: MIT
 *
 * The TCP sockets of a running process, and whether Nagle's algorithm is in
 * force on them.
 */
#ifndef UNSTALL_CLI_TCP_SOCKETS_H
#define UNSTALL_CLI_TCP_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stats_format.h"

struct tcp_socket {
    int fd; /* the process's */
    uint64_t inode;
    bool known; /* found in the kernel's table; else of no kind that this is about */
    struct stats_address local, peer;
    unsigned state; /* as in TCP_INFO: 1 established, 10 listening */
    /* of the kernel, now; -1: not to be known (pidfd_getfd(2) wants the rights of ptrace(2)) */
    int nodelay, cork;
};

/* All of them, by descriptor; free() it.  NULL with *count == 0: none; with errno where
 * the process may not be looked at (*count == SIZE_MAX). */
struct tcp_socket *tcp_sockets(pid_t pid, size_t *count);

/* "established" */
const char *tcp_state_name(unsigned state);

#endif
