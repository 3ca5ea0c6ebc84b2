/* SPDX-License-Identifier: MIT
 *
 * The supervisor's work on one waiting call, and its answer.
 */
#ifndef UNSTALL_SUPERVISE_NOTICE_H
#define UNSTALL_SUPERVISE_NOTICE_H

#include <linux/seccomp.h>

enum notice_answer {
    NOTICE_GO_ON,    /* the kernel makes the call */
    NOTICE_DONE,     /* the call returns 0 and is not made */
    NOTICE_ANSWERED, /* the call has its answer already */
};

enum notice_answer notice_treat(int listener, const struct seccomp_notif *call);

#endif
