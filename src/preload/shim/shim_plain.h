/* SPDX-License-Identifier: MIT
 *
 * Shared by the fast paths of a write only (shim_fast.c, shim_quiet.c): one contiguous buffer, kept in
 * registers, and its send once the decision is made.
 */
#ifndef UNSTALL_SHIM_PLAIN_H
#define UNSTALL_SHIM_PLAIN_H

#include <errno.h>

#include "real.h"
#include "shim_parts.h"

/* The arguments of the call, kept in registers. */
struct plain {
    int fd, flags;
    const void *buffer;
    size_t bytes;
    enum out_form form;
    uintptr_t caller;
};

INLINE struct write_request shim_plain_request(const struct plain *w) {
    return (struct write_request){.fd = w->fd,
                                  .form = w->form,
                                  .flags = w->flags,
                                  .caller = w->caller,
                                  .buffer = w->buffer,
                                  .bytes = w->bytes};
}

/* The kernel took only a part of the write, or none.  Each file has a copy, with arguments in registers. */
COLD ssize_t shim_plain_fell_short(struct conn *c, struct plain w, const struct policy_action *action,
                                   ssize_t sent, bool was_held) {
    if (sent < 0 && errno == ENOTSOCK) {
        const struct write_request o = shim_plain_request(&w);
        return shim_plain_after_all(&o);
    }
    shim_write_rollback(c, w.fd, action, w.bytes, sent, was_held);
    return sent;
}

/* Sends it, and what is held before it.  Lock held; released. */
INLINE ssize_t shim_send_last(struct conn *c, const struct plain *w, bool *was_held) {
    *was_held = c->held;
    if (UNLIKELY(*was_held))
        STORE(&c->held, false);
    conn_unlock(c);
    if (UNLIKELY(*was_held))
        self.releasing = c; /* in case this thread is cancelled in the call */
    ssize_t sent = w->form == FORM_WRITE  ? REAL(write)(w->fd, w->buffer, w->bytes)
                   : w->form == FORM_SEND ? REAL(send)(w->fd, w->buffer, w->bytes, w->flags)
                                          : REAL(sendto)(w->fd, w->buffer, w->bytes, w->flags, NULL, 0);
    if (UNLIKELY(*was_held))
        self.releasing = NULL;
    return sent;
}

/* The same for a write as decided. */
INLINE ssize_t shim_send_plain(struct conn *c, struct plain w, const struct policy_action *action) {
    bool was_held;
    ssize_t sent = shim_send_last(c, &w, &was_held);
    return LIKELY(sent == (ssize_t)w.bytes) ? sent : shim_plain_fell_short(c, w, action, sent, was_held);
}

/* Sends it with MSG_MORE.  Lock held; released. */
INLINE ssize_t shim_send_more(struct conn *c, const struct plain *w) {
    conn_unlock(c);
    return REAL_FOUND(send)(w->fd, w->buffer, w->bytes, w->flags | MSG_MORE);
}

/* The same for a write as decided. */
INLINE ssize_t shim_send_held(struct conn *c, struct plain w, const struct policy_action *action) {
    bool was_held = shim_hold(c);
    ssize_t sent = shim_send_more(c, &w);
    if (UNLIKELY(sent != (ssize_t)w.bytes))
        sent = shim_plain_fell_short(c, w, action, sent, was_held);
    if (sent > 0 && UNLIKELY(!LOAD(&c->held)))
        shim_rehold_after_push(c, w.fd);
    return sent;
}

#endif
