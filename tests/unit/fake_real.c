/* SPDX-License-Identifier: MIT */
#include "fake_real.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "fake_kernel.h"
#include "readable.h"
#include "real.h"

struct fake_real fake_real;

enum { PARTS_MOST = 1024, BYTES_MOST = 16384 };

static void happens_meanwhile(void) {
    void (*meanwhile)(void) = fake_real.meanwhile;
    fake_real.meanwhile = NULL;
    if (meanwhile)
        meanwhile();
}

/* The kernel would refuse such a vector. */
static bool is_bad(const struct iovec *iov, size_t count) {
    bool bad = !iov || count > PARTS_MOST;
    for (size_t i = 0; !bad && i < count; i++)
        bad = iov[i].iov_len >= BYTES_MOST;
    return bad;
}

static ssize_t call(const char *what, int fd, const struct iovec *iov, size_t count) {
    TEXT(all, BYTES_MOST);
    if (is_bad(iov, count)) {
        fake_note(what, fd, "bad", 3);
        errno = EINVAL;
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        text_add_n(&all, iov[i].iov_base, iov[i].iov_len);
    fake_note(what, fd, all.at, all.used < 40 ? all.used : 40);
    happens_meanwhile();
    ssize_t answer = fake_real.count < FAKE_ANSWERS ? fake_real.answers[fake_real.count] : 0;
    fake_real.count++;
    if (answer < 0) {
        errno = (int)-answer;
        return -1;
    }
    if (answer == 0 || (size_t)answer > all.used)
        answer = (ssize_t)all.used;
    text_add_n(&fake.wire, all.at, (size_t)answer);
    return answer;
}

static ssize_t one(const char *what, int fd, const void *buffer, size_t bytes) {
    struct iovec part = {(void *)(uintptr_t)buffer, bytes};
    return call(what, fd, &part, 1);
}

static ssize_t fake_write(int fd, const void *buffer, size_t bytes) {
    return one("WRITE", fd, buffer, bytes);
}

static ssize_t fake_writev(int fd, const struct iovec *iov, int count) {
    return call("WRITEV", fd, iov, (size_t)count);
}

static ssize_t fake_send(int fd, const void *buffer, size_t bytes, int flags) {
    return one(flags & MSG_MORE ? "SEND_MORE" : "SEND", fd, buffer, bytes);
}

static ssize_t fake_sendmsg(int fd, const struct msghdr *message, int flags) {
    if (!readable(message, sizeof(*message)))
        return call("SENDMSG", fd, NULL, 1);
    return call(flags & MSG_MORE ? "SENDMSG_MORE" : "SENDMSG", fd, message->msg_iov,
                message->msg_iovlen);
}

static long fake_syscall(long n, ...) {
    if (n == SYS_futex)
        return one("WAIT", 0, NULL, 0);
    errno = ENOSYS;
    return -1;
}

void fake_real_install(void) {
    memset(&fake_real, 0, sizeof(fake_real));
    real_write = (void *)(uintptr_t)fake_write;
    real_writev = (void *)(uintptr_t)fake_writev;
    real_send = (void *)(uintptr_t)fake_send;
    real_sendmsg = (void *)(uintptr_t)fake_sendmsg;
    real_syscall = (void *)(uintptr_t)fake_syscall;
}
