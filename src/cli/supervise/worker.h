/* SPDX-License-Identifier: MIT
 *
 * The two processes of the supervisor: guard and worker.
 *
 * Both hold the listener, because filtered calls fail with ENOSYS once no process holds it.  The call that
 * the worker treats is in memory that both share: the kernel writes it there in the ioctl that takes it.
 * If the worker is killed, the guard lets that call go on and starts another worker.  If the guard is
 * killed, the worker becomes the guard.  After WORKERS_MOST workers the guard itself lets all calls go on
 * as they are, so that a fault of ours costs the cure and not the program.
 */
#ifndef UNSTALL_SUPERVISE_WORKER_H
#define UNSTALL_SUPERVISE_WORKER_H

#include <linux/seccomp.h>

enum { WORKERS_MOST = 16 };

/* The work on one waiting call, and its answer (notice.c). */
enum notice_answer {
    NOTICE_GO_ON,    /* the kernel makes the call */
    NOTICE_DONE,     /* the call returns 0 and is not made */
    NOTICE_ANSWERED, /* the call has its answer already */
};

enum notice_answer notice_treat(int listener, const struct seccomp_notif *call);

/* Ends with the last process that has the filter.  Returns 0, or -errno if it could not begin. */
int worker_guard(int listener);

#endif
