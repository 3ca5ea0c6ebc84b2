/* SPDX-License-Identifier: MIT
 *
 * libc's names of the calls in rights.def.  libc makes some of them in each thread
 * that it knows (nptl(7)), which the window's thread need not be.
 */
#include <linux/seccomp.h>

#include "exports.h"
#include "process.h"
#include "rights.h"

#define CHANGES(number, first, call)                                        \
    __extension__({                                                         \
        uint32_t barred_ = rights_change((number), (unsigned long)(first)); \
        int result_ = (call);                                               \
        rights_changed(barred_);                                            \
        result_;                                                            \
    })

EXPORT int unshare(int flags) {
    return CHANGES(SYS_unshare, flags, REAL(unshare)(flags));
}

EXPORT int setns(int fd, int type) {
    return CHANGES(SYS_setns, fd, REAL(setns)(fd, type));
}

EXPORT int setuid(uid_t user) {
    return CHANGES(SYS_setuid, user, REAL(setuid)(user));
}

EXPORT int seteuid(uid_t user) {
    return CHANGES(SYS_setresuid, -1, REAL(seteuid)(user));
}

EXPORT int setreuid(uid_t real, uid_t effective) {
    return CHANGES(SYS_setreuid, real, REAL(setreuid)(real, effective));
}

EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) {
    return CHANGES(SYS_setresuid, real, REAL(setresuid)(real, effective, saved));
}

EXPORT int setgid(gid_t group) {
    return CHANGES(SYS_setgid, group, REAL(setgid)(group));
}

EXPORT int setegid(gid_t group) {
    return CHANGES(SYS_setresgid, -1, REAL(setegid)(group));
}

EXPORT int setregid(gid_t real, gid_t effective) {
    return CHANGES(SYS_setregid, real, REAL(setregid)(real, effective));
}

EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved) {
    return CHANGES(SYS_setresgid, real, REAL(setresgid)(real, effective, saved));
}

EXPORT int setgroups(size_t count, const gid_t *groups) {
    return CHANGES(SYS_setgroups, count, REAL(setgroups)(count, groups));
}

EXPORT int initgroups(const char *name, gid_t group) {
    return CHANGES(SYS_setgroups, 0, REAL(initgroups)(name, group));
}

EXPORT int setfsuid(uid_t user) {
    return CHANGES(SYS_setfsuid, user, REAL(setfsuid)(user));
}

EXPORT int setfsgid(gid_t group) {
    return CHANGES(SYS_setfsgid, group, REAL(setfsgid)(group));
}

EXPORT int capset(void *header, const void *data) {
    return CHANGES(SYS_capset, 0, REAL(capset)(header, data));
}

EXPORT int personality(unsigned long persona) {
    return CHANGES(SYS_personality, persona, REAL(personality)(persona));
}

EXPORT int prctl(int option, ...) {
    va_list list;
    unsigned long a[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option != PR_SET_SECCOMP)
        return CHANGES(SYS_prctl, option, REAL(prctl)(option, a[0], a[1], a[2], a[3]));
    process_filters(a[0] == SECCOMP_MODE_STRICT);
    int result = REAL(prctl)(option, a[0], a[1], a[2], a[3]);
    process_filtered(result == 0);
    return result;
}
