/* SPDX-License-Identifier: MIT
 *
 * A signal may stop or end this process.  In mode coalesce the calling thread's buffered bytes are sent
 * first.  In the other modes the bytes are in the kernel already.
 */
#include "exports.h"

#define SIGNALS(name, parameters, arguments) \
    EXPORT FORWARD(hold_before_signal(), int, name, parameters, arguments)

SIGNALS(kill, (pid_t pid, int number), (pid, number))
SIGNALS(killpg, (pid_t group, int number), (group, number))
SIGNALS(raise, (int number), (number))
SIGNALS(sigqueue, (pid_t pid, int number, const union sigval value), (pid, number, value))
SIGNALS(tgkill, (pid_t group, pid_t thread, int number), (group, thread, number))
SIGNALS(pthread_kill, (pthread_t thread, int number), (thread, number))
SIGNALS(pthread_sigqueue, (pthread_t thread, int number, const union sigval value), (thread, number, value))
