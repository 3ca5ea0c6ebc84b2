/* SPDX-License-Identifier: MIT
 *
 * The look at a process: follows its threads by ptrace(2) and asks a tool at their writes.
 */
#ifndef UNSTALL_CLI_WHO_LOOK_H
#define UNSTALL_CLI_WHO_LOOK_H

#include "who.h"

/* Looks until both writes of a message are known, a limit is reached, or the process ends. */
void who_look(pid_t pid, struct who *w);

/* The kinds of system calls at whose entry a thread may stop. */
enum who_call { CALL_OTHER, CALL_SEND, CALL_RECEIVE, CALL_CLOSE };

/* The call that a stopped thread is about to make, its descriptor, and the bytes that it sends. */
enum who_call who_call_now(pid_t thread, int *fd, uint64_t *bytes);

/* True if the descriptor of a process is a TCP socket. */
bool who_is_tcp(pid_t pid, int fd);

/* True if bytes that it has sent are not acknowledged yet. */
bool who_is_unacknowledged(pid_t pid, int fd);

#endif
