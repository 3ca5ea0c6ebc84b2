/* SPDX-License-Identifier: MIT
 *
 * The forms of a write: its bytes, and the call as the application made it.
 */
#include <limits.h>
#include <sys/syscall.h>

#include "readable.h"
#include "real.h"
#include "shim_parts.h"

static ssize_t forward_raw(const struct write_request *o) {
    switch (o->form) {
    case FORM_WRITE: return REAL(syscall)(SYS_write, o->fd, o->buffer, o->bytes);
    case FORM_WRITEV: return REAL(syscall)(SYS_writev, o->fd, o->iov, o->iov_count);
    case FORM_SEND:
    case FORM_SENDTO:
        return REAL(syscall)(SYS_sendto, o->fd, o->buffer, o->bytes, o->flags, o->address,
                             o->address_length);
    case FORM_SENDMSG: return REAL(syscall)(SYS_sendmsg, o->fd, o->message, o->flags);
    case FORM_PWRITEV2: return REAL(syscall)(SYS_pwritev2, o->fd, o->iov, o->iov_count, -1L, -1L, 0);
    }
    return -1;
}

ssize_t shim_forward(const struct write_request *o) {
    if (UNLIKELY(o->raw))
        return forward_raw(o);
    switch (o->form) {
    case FORM_WRITE: return REAL(write)(o->fd, o->buffer, o->bytes);
    case FORM_WRITEV: return REAL(writev)(o->fd, o->iov, o->iov_count);
    case FORM_SEND: return REAL(send)(o->fd, o->buffer, o->bytes, o->flags);
    case FORM_SENDTO:
        return REAL(sendto)(o->fd, o->buffer, o->bytes, o->flags, o->address, o->address_length);
    case FORM_SENDMSG: return REAL(sendmsg)(o->fd, o->message, o->flags);
    case FORM_PWRITEV2: return REAL(pwritev2)(o->fd, o->iov, o->iov_count, -1, 0);
    }
    return -1;
}

void shim_parts_of(const struct write_request *o, struct parts *p) {
    switch (o->form) {
    case FORM_WRITE:
    case FORM_SEND:
    case FORM_SENDTO:
        p->one = (struct iovec){(void *)(uintptr_t)o->buffer, o->bytes};
        p->iov = &p->one;
        p->count = 1;
        p->bytes = o->bytes;
        p->valid = o->bytes <= SSIZE_MAX;
        return;
    case FORM_WRITEV:
    case FORM_PWRITEV2:
        p->iov = o->iov;
        p->count = (size_t)o->iov_count;
        break;
    case FORM_SENDMSG:
        p->count = SIZE_MAX; /* too many, or the vector is unreadable */
        if (!readable(o->message, sizeof(*o->message)))
            break;
        p->iov = o->message->msg_iov;
        p->count = o->message->msg_iovlen;
        break;
    }
    p->bytes = 0;
    p->valid = p->count <= IOV_MAX && readable(p->iov, p->count * sizeof(*p->iov));
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
    const struct iovec *iov = o->iov;
    size_t count = (size_t)o->iov_count;
    if (o->form == FORM_SENDMSG) {
        if (!surely_readable(o->message, sizeof(*o->message)))
            return false;
        iov = o->message->msg_iov;
        count = o->message->msg_iovlen;
    } else if (o->form != FORM_WRITEV && o->form != FORM_PWRITEV2) {
        return true;
    }
    return count <= IOV_MAX && surely_readable(iov, count * sizeof(*iov));
}

/* Flags of a write that must not be delayed. */
enum { SPECIAL = MSG_OOB | MSG_ZEROCOPY | MSG_FASTOPEN | MSG_EOR | MSG_CONFIRM };

bool shim_special(const struct write_request *o) {
    return (o->flags & SPECIAL) || o->address ||
           (o->message && (o->message->msg_controllen || o->message->msg_name));
}

ssize_t shim_forward_more(const struct write_request *o, const struct parts *p) {
    if (UNLIKELY(o->raw)) {
        struct msghdr raw = {.msg_iov = (struct iovec *)(uintptr_t)p->iov, .msg_iovlen = p->count};
        return REAL(syscall)(SYS_sendmsg, o->fd, &raw, o->flags | MSG_MORE);
    }
    if (p->count == 1)
        return REAL(send)(o->fd, p->iov[0].iov_base, p->iov[0].iov_len, o->flags | MSG_MORE);
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)p->iov, .msg_iovlen = p->count};
    return REAL(sendmsg)(o->fd, &message, o->flags | MSG_MORE);
}
