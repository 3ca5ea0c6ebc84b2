/* SPDX-License-Identifier: MIT
 *
 * A seccomp filter for this process, as a sandbox has one, or a kernel that lacks a call.
 */
#ifndef UNSTALL_FILTER_H
#define UNSTALL_FILTER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "base.h"

/* From now on this call fails with `error` if its argument number `which` is `value`.  False: no filters
 * here. */
static inline bool filter_fails(uint32_t call, unsigned which, uint32_t value, uint32_t error) {
    size_t at = offsetof(struct seccomp_data, args) + 8 * which;
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {ARRAY_SIZE(steps), steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

#endif
