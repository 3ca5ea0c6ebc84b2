/* SPDX-License-Identifier: MIT
 *
 * Descriptors inside messages (SCM_RIGHTS).
 */

#include "readable.h"
#include "reentry.h"
#include "shim.h"

/* The message and its control data are readable memory; the lengths in them may be wrong. */
static void each_passed(const struct msghdr *message, void (*visit)(int fd)) {
    struct msghdr m = *message;
    const char *end = (const char *)m.msg_control + m.msg_controllen;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
        if (h->cmsg_len > (size_t)(end - (const char *)h))
            return; /* the kernel refuses it */
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS ||
            h->cmsg_len < CMSG_LEN(sizeof(int)))
            continue;
        size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
            visit(fd);
        }
    }
}

static bool any_passed;  /* this process has passed a descriptor, which may come back */
static bool any_arrived; /* one has arrived since: the cookie of each that goes is noted at once */

/* Lock held. */
static void note_passed(struct conn *c) {
    uint64_t cookie;
    if (c->passed && !c->cookie && !config()->no_syscalls && kernel->cookie(c->fd, &cookie) == 0)
        fds_note_cookie(c, cookie);
}

static void passes(int fd) {
    struct conn *c = fds_lock(fd);
    if (!c)
        return;
    hold_push(c, PUSH_PROCESS);
    if (!config()->no_syscalls) {
        hold_restore(c);
        c->passed = true;
        if (LOAD(&any_arrived))
            note_passed(c);
        __atomic_add_fetch(&nodelay_epoch, 1, __ATOMIC_RELAXED);
        STORE(&any_passed, true);
    }
    conn_unlock(c);
}

/* Before the call.  Under a filter of the program's own, and where every call passes through, nothing is
 * asked. */
static bool may_be_read(const void *start, size_t bytes) {
    return LIKELY(lies_on_stack(start, bytes)) ||
           (gate_enter() && !config()->no_syscalls && readable_elsewhere(start, bytes));
}

static void control_passes(const struct msghdr *message) {
    if (message->msg_controllen && gate_enter() && message->msg_control &&
        may_be_read(message->msg_control, message->msg_controllen))
        each_passed(message, passes);
}

static void message_passes(const struct msghdr *message) {
    if (may_be_read(message, sizeof(*message)))
        control_passes(message);
}

/* One question to the kernel for the whole array. */
void shim_messages_pass(const struct mmsghdr *messages, unsigned count) {
    if (count > IOV_MAX)
        count = IOV_MAX; /* as the kernel does */
    bool all = may_be_read(messages, count * sizeof(*messages));
    for (unsigned i = 0; i < count; i++)
        if (all)
            control_passes(&messages[i].msg_hdr);
        else
            message_passes(&messages[i].msg_hdr);
}

void shim_descriptors_passed(const struct msghdr *message) {
    if (message->msg_controllen && gate_enter())
        each_passed(message, passes);
}

ssize_t shim_write_message(const struct write_request *o) {
    bool acted = LOAD(&hold_acted);
    if (UNLIKELY(acted))
        message_passes(o->message);
    ssize_t sent = shim_write(o);
    if (!acted && sent >= 0)
        shim_descriptors_passed(o->message);
    return sent;
}

/* A passed descriptor may come back under another number.  Its cookie identifies it. */
static void arrives(int fd) {
    fds_forget(fd);
    if (!LOAD(&any_passed))
        return;
    if (!__atomic_exchange_n(&any_arrived, true, __ATOMIC_SEQ_CST))
        FDS_WALK(c, .all = true)
            note_passed(c);
    struct conn *c = shim_lock_fd(fd); /* now, while the passed connection is still known */
    if (c)
        conn_unlock(c);
}

void shim_descriptors_arrive(const struct msghdr *message) {
    if (message->msg_controllen)
        each_passed(message, gate_enter() ? arrives : reentry_unlink);
}
