/* SPDX-License-Identifier: MIT
 *
 * The life of descriptors.  Forward only: the path is shim_life.c.
 */
#include <linux/close_range.h>
#include <sched.h>
#include <sys/syscall.h>

#include "exports.h"
#include "raw.h"
#include "rights.h"

EXPORT FORWARD(shim_closing(fd), int, close, (int fd), (fd))
ALSO(__close, close)

/* The kernel refuses unknown flags and closes nothing.  The numbers before each spared one are closed by a
 * call of their own.  CLOSE_RANGE_UNSHARE does an unshare(CLONE_FILES) first. */
bool exports_closes_range(unsigned *first, unsigned last, int flags, uint32_t *barred) {
    if (flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC))
        return true;
    *barred = flags & CLOSE_RANGE_UNSHARE ? rights_change(SYS_unshare, CLONE_FILES) : 0;
    if (flags & CLOSE_RANGE_CLOEXEC)
        return true;
    shim_closing_range(*first, last);
    for (unsigned spared; shim_spared(*first, last, &spared); *first = spared + 1) {
        if (spared > *first && raw3(SYS_close_range, *first, spared - 1, flags) < 0)
            return true; /* before Linux 5.9: the program's call fails, too */
        if (spared == last)
            return false;
    }
    return true;
}

EXPORT int close_range(unsigned first, unsigned last, int flags) {
    uint32_t barred = 0;
    int result = 0;
    if (exports_closes_range(&first, last, flags, &barred))
        result = REAL(close_range)(first, last, flags);
    rights_changed(barred);
    return result;
}

EXPORT void closefrom(int first) {
    unsigned from = first < 0 ? 0 : (unsigned)first;
    uint32_t barred = 0;
    exports_closes_range(&from, ~0U, 0, &barred);
    REAL(closefrom)((int)from);
}

int exports_copied(int fd, int copy) {
    shim_duplicated(fd, copy);
    return copy;
}

EXPORT int dup(int fd) {
    return exports_copied(fd, REAL(dup)(fd));
}

EXPORT int dup2(int fd, int to) {
    shim_replacing(fd, to);
    return exports_copied(fd, REAL(dup2)(fd, to));
}
ALSO(__dup2, dup2)

EXPORT int dup3(int fd, int to, int flags) {
    if (!(flags & ~O_CLOEXEC))
        shim_replacing(fd, to);
    return exports_copied(fd, REAL(dup3)(fd, to, flags));
}

EXPORT CONTROLS(fcntl)
ALSO(__fcntl, fcntl)
#ifdef WITH_TIME64
EXPORT CONTROLS(fcntl64)
ALSO(__fcntl_time64, fcntl64)
#else
ALSO(fcntl64, fcntl)
#endif
