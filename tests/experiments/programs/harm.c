/* SPDX-License-Identifier: MIT
 *
 * Makes an arm harmful: a kernel, as it were, in which MSG_MORE takes 100 ms.  It
 * stands behind libunstall.so, so that it sees the library's sends:
 * `auto` and `cork` hold by MSG_MORE, `off` does not.
 */
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t send(int fd, const void *data, size_t length, int flags) {
    ssize_t (*real)(int, const void *, size_t, int) =
        (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    if (flags & MSG_MORE)
        usleep(100000);
    ssize_t sent = real(fd, data, length, flags);
    return sent;
}
