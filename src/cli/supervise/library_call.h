/* SPDX-License-Identifier: MIT
 *
 * Finds the calls that the preloaded library sees: the supervisor leaves their connections to it.
 */
#ifndef UNSTALL_SUPERVISE_LIBRARY_CALL_H
#define UNSTALL_SUPERVISE_LIBRARY_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* True if the task has libunstall.so mapped and made the call at this address inside libc or the library.
 * Calls made inline (Go, raw system calls, liburing) come from elsewhere. */
bool library_call(pid_t task, uint64_t address);

#endif
