/* SPDX-License-Identifier: MIT
 *
 * The forms of a write: its bytes, the call as the application made it, and how a call of the application
 * fails.  What follows a pointer of the caller looks first whether it is readable memory.
 */

#include "readable.h"
#include "real.h"
#include "shim.h"

/* ---- the call ---------------------------------------------------------------- */

/* Makes the call `name` as the application made it: by libc's name, or by syscall(2). */
#define MADE(o, name, ...) ((o)->raw ? REAL(syscall)(SYS_##name, __VA_ARGS__) : REAL(name)(__VA_ARGS__))

ssize_t shim_forward(const struct write_request *o) {
    switch (o->form) {
    case FORM_WRITE: return MADE(o, write, o->fd, o->buffer, o->bytes);
    case FORM_WRITEV: return MADE(o, writev, o->fd, o->iov, o->iov_count);
    case FORM_SEND:
        if (LIKELY(!o->raw))
            return REAL(send)(o->fd, o->buffer, o->bytes, o->flags);
        __attribute__((fallthrough)); /* each processor has the call sendto */
    case FORM_SENDTO:
        return MADE(o, sendto, o->fd, o->buffer, o->bytes, o->flags, o->address, o->address_length);
    case FORM_SENDMSG: return MADE(o, sendmsg, o->fd, o->message, o->flags);
    case FORM_PWRITEV2:
        return o->raw ? REAL(syscall)(SYS_pwritev2, o->fd, o->iov, o->iov_count, -1L, -1L, 0)
                      : REAL(pwritev2)(o->fd, o->iov, o->iov_count, -1, 0);
    }
    return -1;
}

ssize_t shim_forward_more(const struct write_request *o, const struct parts *p) {
    if (p->count == 1 && LIKELY(!o->raw))
        return REAL(send)(o->fd, p->iov[0].iov_base, p->iov[0].iov_len, o->flags | MSG_MORE);
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)p->iov, .msg_iovlen = p->count};
    return MADE(o, sendmsg, o->fd, &message, o->flags | MSG_MORE);
}

/* ---- the bytes --------------------------------------------------------------- */

static bool has_vector(const struct write_request *o) {
    return o->form == FORM_WRITEV || o->form == FORM_PWRITEV2 || o->form == FORM_SENDMSG;
}

/* Fills in the vector of a write that has one.  False: it is too long, or `there` does not find it. */
INLINE bool vector_of(const struct write_request *o, bool (*there)(const void *, size_t), struct parts *p) {
    p->iov = o->iov;
    p->count = (size_t)o->iov_count;
    if (o->form == FORM_SENDMSG) {
        if (!o->message || !there(o->message, sizeof(*o->message)))
            return false;
        p->iov = o->message->msg_iov;
        p->count = o->message->msg_iovlen;
    }
    return p->count <= IOV_MAX && there(p->iov, p->count * sizeof(*p->iov));
}

void shim_parts_of(const struct write_request *o, struct parts *p) {
    if (!has_vector(o)) {
        p->one = (struct iovec){(void *)(uintptr_t)o->buffer, o->bytes};
        p->iov = &p->one;
        p->count = 1;
        p->bytes = o->bytes;
        p->valid = o->bytes <= SSIZE_MAX;
        return;
    }
    p->bytes = 0;
    p->valid = vector_of(o, readable, p);
    for (size_t i = 0; p->valid && i < p->count; i++) {
        p->valid = p->iov[i].iov_len <= SSIZE_MAX - p->bytes;
        p->bytes += p->iov[i].iov_len;
    }
}

bool shim_parts_readable(const struct parts *p, size_t most) {
    for (size_t i = 0; i < p->count && most; i++) {
        size_t bytes = p->iov[i].iov_len < most ? p->iov[i].iov_len : most;
        if (!readable(p->iov[i].iov_base, bytes))
            return false;
        most -= bytes;
    }
    return true;
}

bool shim_surely_there(const struct write_request *o) {
    struct parts p;
    return !has_vector(o) || vector_of(o, surely_readable, &p);
}

/* Flags of a write that must not be delayed. */
enum {
    COMPAT = INT_MIN, /* MSG_CMSG_COMPAT, with which sendmsg(2) of a 64-bit program fails */
    SPECIAL = MSG_OOB | MSG_ZEROCOPY | MSG_FASTOPEN | MSG_EOR | MSG_CONFIRM | COMPAT,
};

bool shim_special(const struct write_request *o) {
    return (o->flags & SPECIAL) || o->address ||
           (o->message && (o->message->msg_controllen || o->message->msg_name));
}

/* ---- what the kernel would do ------------------------------------------------- */

bool shim_non_blocking(const struct write_request *o) {
    if (o->flags & MSG_DONTWAIT)
        return true;
    int flags = kernel->status_flags(o->fd);
    return flags >= 0 && (flags & O_NONBLOCK);
}

/* As by the kernel, which says SI_USER of its own SIGPIPE.  tgkill(2) says SI_TKILL; a filter that lets
 * raise(3) pass lets it pass, too. */
static void raise_sigpipe(void) {
    long process = raw0(SYS_getpid), task = raw0(SYS_gettid);
    siginfo_t about = {.si_signo = SIGPIPE, .si_code = SI_USER};
    about.si_pid = (pid_t)process;
    about.si_uid = (uid_t)raw0(SYS_getuid);
    if (config()->no_syscalls || raw4(SYS_rt_tgsigqueueinfo, process, task, SIGPIPE, &about) != 0)
        raw3(SYS_tgkill, process, task, SIGPIPE);
}

ssize_t shim_fail(int error, int flags) {
    if (error == EPIPE && !(flags & MSG_NOSIGNAL))
        raise_sigpipe();
    errno = error;
    return -1;
}
