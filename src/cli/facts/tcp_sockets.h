/* SPDX-License-Identifier: MIT
 *
 * The TCP sockets of a running process, and whether Nagle's algorithm is in force on them.
 */
#ifndef UNSTALL_CLI_TCP_SOCKETS_H
#define UNSTALL_CLI_TCP_SOCKETS_H

#include <sys/types.h>

#include "stats_format.h"

struct tcp_socket {
    int fd; /* number in the process */
    uint64_t inode;
    bool known; /* found in the kernel's table of TCP sockets; tcp_sockets() returns no others */
    struct stats_address local, peer;
    unsigned state; /* as in TCP_INFO: 1 established, 10 listening */
    /* the kernel's values now; -1: unknown, pidfd_getfd(2) needs the rights of ptrace(2) */
    int nodelay, cork;
};

/* All of them, sorted by descriptor; the caller frees the list.  NULL and *count == 0: there are none.
 * NULL and *count == SIZE_MAX: the process may not be inspected, errno says why. */
struct tcp_socket *tcp_sockets(pid_t pid, size_t *count);

/* "established" */
const char *tcp_state_name(unsigned state);

#endif
