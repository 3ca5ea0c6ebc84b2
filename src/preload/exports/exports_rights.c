/* SPDX-License-Identifier: MIT
 *
 * libc's names of the calls in rights.def.  libc makes some of them in each thread
 * that it knows (nptl(7)); it usually does not know the window's thread.
 */
#include <linux/seccomp.h>

#include "exports.h"
#include "rights.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59 /* Linux 5.11 */
#endif
#ifndef PR_SYS_DISPATCH_ON
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON  1
#endif

#define CHANGES(number, first, call)                                        \
    __extension__({                                                         \
        uint32_t barred_ = rights_change((number), (unsigned long)(first)); \
        int result_ = (call);                                               \
        rights_changed(barred_);                                            \
        result_;                                                            \
    })

/* EXPORT int name(parameters): as the call `number` with this first argument. */
#define CHANGE(number, first, name, parameters, arguments)   \
    EXPORT int name parameters {                             \
        return CHANGES(number, first, REAL(name) arguments); \
    }

CHANGE(SYS_unshare, flags, unshare, (int flags), (flags))
CHANGE(SYS_setns, fd, setns, (int fd, int type), (fd, type))
CHANGE(SYS_setuid, user, setuid, (uid_t user), (user))
CHANGE(SYS_setresuid, -1, seteuid, (uid_t user), (user))
CHANGE(SYS_setreuid, real, setreuid, (uid_t real, uid_t effective), (real, effective))
CHANGE(SYS_setresuid, real, setresuid, (uid_t real, uid_t effective, uid_t saved),
       (real, effective, saved))
CHANGE(SYS_setgid, group, setgid, (gid_t group), (group))
CHANGE(SYS_setresgid, -1, setegid, (gid_t group), (group))
CHANGE(SYS_setregid, real, setregid, (gid_t real, gid_t effective), (real, effective))
CHANGE(SYS_setresgid, real, setresgid, (gid_t real, gid_t effective, gid_t saved),
       (real, effective, saved))
CHANGE(SYS_setgroups, count, setgroups, (size_t count, const gid_t *groups), (count, groups))
CHANGE(SYS_setgroups, 0, initgroups, (const char *name, gid_t group), (name, group))
CHANGE(SYS_setfsuid, user, setfsuid, (uid_t user), (user))
CHANGE(SYS_setfsgid, group, setfsgid, (gid_t group), (group))
CHANGE(SYS_capset, 0, capset, (void *header, const void *data), (header, data))
CHANGE(SYS_personality, persona, personality, (unsigned long persona), (persona))

EXPORT int prctl(int option, ...) {
    va_list list;
    unsigned long a[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP) {
        process_filters(a[0] == SECCOMP_MODE_STRICT);
    } else if (option == PR_SET_SYSCALL_USER_DISPATCH && a[0] != PR_SYS_DISPATCH_OFF) {
        process_dispatches(a[0] == PR_SYS_DISPATCH_ON ? a[1] : 0,
                           a[0] == PR_SYS_DISPATCH_ON ? a[2] : 0);
    } else {
        if (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV)
            process_loses_counter();
        return CHANGES(SYS_prctl, option, REAL(prctl)(option, a[0], a[1], a[2], a[3]));
    }
    int result = REAL(prctl)(option, a[0], a[1], a[2], a[3]);
    process_filtered(result == 0);
    return result;
}
#ifdef WITH_TIME64
ALSO(__prctl_time64, prctl)
#endif
