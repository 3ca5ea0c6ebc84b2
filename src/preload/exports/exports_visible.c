/* SPDX-License-Identifier: MIT
 *
 * Acts that another process can see.  In mode coalesce the calling thread's buffered bytes
 * are sent first, so that a later kill has the same result as one a moment earlier.  In the
 * other modes the bytes are in the kernel already.
 */
#include "exports.h"

#define VISIBLE(type, name, parameters, arguments) \
    EXPORT FORWARD(hold_before_visible(), type, name, parameters, arguments)

VISIBLE(int, kill, (pid_t pid, int number), (pid, number))
VISIBLE(int, killpg, (pid_t group, int number), (group, number))
VISIBLE(int, raise, (int number), (number))
VISIBLE(int, sigqueue, (pid_t pid, int number, const union sigval value), (pid, number, value))
VISIBLE(int, tgkill, (pid_t group, pid_t thread, int number), (group, thread, number))
VISIBLE(int, pthread_kill, (pthread_t thread, int number), (thread, number))
VISIBLE(int, pthread_sigqueue, (pthread_t thread, int number, const union sigval value),
        (thread, number, value))
VISIBLE(int, rename, (const char *from, const char *to), (from, to))
VISIBLE(int, renameat, (int from_directory, const char *from, int to_directory, const char *to),
        (from_directory, from, to_directory, to))
VISIBLE(int, renameat2,
        (int from_directory, const char *from, int to_directory, const char *to, unsigned flags),
        (from_directory, from, to_directory, to, flags))
