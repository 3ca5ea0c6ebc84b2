/* SPDX-License-Identifier: MIT
 *
 * The one core path.  Every exported call comes here in one of a few forms:
 * find the connection, observe, decide (policy), act (hold, buffer, kernel),
 * account, and forward to the next function in line.  These functions set errno
 * exactly as the bare call would; whatever the shim does on its own leaves
 * errno alone.
 *
 * The shim makes no promise for descriptors that it does not know: they pass.
 */
#ifndef UNSTALL_SHIM_H
#define UNSTALL_SHIM_H

#include <sys/socket.h>
#include <sys/uio.h>

#include "conn.h"
#include "fds.h"

/* ---- writes ---------------------------------------------------------- */

/* One write in whichever form the application made it. */
enum out_form { FORM_WRITE, FORM_WRITEV, FORM_SEND, FORM_SENDTO, FORM_SENDMSG, FORM_PWRITEV2 };

struct write_request {
    int fd;
    enum out_form form;
    bool raw;           /* made by syscall(2): no cancellation point, and forwarded so */
    int flags;          /* MSG_* */
    uintptr_t caller;   /* return address of the exported call, for the evidence */
    const void *buffer; /* FORM_WRITE, FORM_SEND, FORM_SENDTO */
    size_t bytes;
    const struct iovec *iov; /* FORM_WRITEV, FORM_PWRITEV2 */
    int iov_count;
    const struct msghdr *message;   /* FORM_SENDMSG */
    const struct sockaddr *address; /* FORM_SENDTO */
    socklen_t address_length;
};

ssize_t shim_write(const struct write_request *out);
/* The same for one plain run of bytes (FORM_WRITE, FORM_SEND, FORM_SENDTO without an
 * address): by the short way, if it is what nearly every write of its connection is. */
ssize_t shim_write_fast(int fd, const void *buffer, size_t bytes, int flags, enum out_form form,
                         uintptr_t caller);

/* Known to be no TCP stream, and no turn is open: the call is none of our
 * business, whatever the gate says. */
static inline bool shim_passes(int fd) {
    uintptr_t word = fds_word(fd);
    return LIKELY(self.turn == NULL) && word != FDS_UNKNOWN && word <= FDS_LAST_TAG;
}

/* The bytes of a write, whatever its form. */
struct parts {
    const struct iovec *iov;
    size_t count;
    size_t bytes;
    struct iovec one;
    bool valid; /* false: forward as it is, the kernel will say what is wrong */
};

void shim_parts_of(const struct write_request *out, struct parts *p);
/* The call as the application made it. */
ssize_t shim_forward(const struct write_request *out);
/* Buffered bytes, then this write, in one sendmsg.  Lock held; released. */
ssize_t shim_send_after_buffered(struct conn *c, const struct write_request *o, const struct parts *p);

/* A call under way that may block: on which connection, and which one of those that its place
 * has been.  By value and on the caller's stack: a handler that interrupts the call makes
 * others of its own. */
struct call {
    struct conn *conn; /* NULL: none of ours */
    uint32_t generation;
};

/* Another thread has closed it meanwhile: its place is another's. */
static inline bool call_is_stale(struct call call) {
    return call.conn->generation != call.generation;
}

/* A call that moves bytes into `fd` but can be neither held nor buffered
 * (sendfile, splice, sendmmsg).  Before it, with its MSG_ flags, and whether it is no cancellation
 * point: false means that the call must not be made, errno is set and -1 is the answer.  After it,
 * with what it moved in how many pieces, and whether the application itself holds them (MSG_MORE). */
bool shim_bulk_begins(int fd, int flags, bool raw, struct call *call);
void shim_bulk_ended(struct call call, int fd, unsigned pieces, ssize_t moved, bool more,
                     uintptr_t caller);

/* The descriptors that a message carries leave this process (SCM_RIGHTS).  Before the
 * send where something was ever done (there may be options to give back); else after
 * it.  The message may be one that the kernel will refuse. */
void shim_descriptors_leave(const struct msghdr *message);
/* A write of the form FORM_SENDMSG, with what it may carry. */
ssize_t shim_write_message(const struct write_request *o);
/* They have arrived: the kernel has filled the message in. */
void shim_descriptors_arrive(const struct msghdr *message);

/* ---- reads ----------------------------------------------------------- */

/* Before a read that may block unless `dont_wait`.  The result goes to
 * shim_read_ends. */
struct call shim_read_begins(int fd, bool dont_wait);
ssize_t shim_read_ends(struct call call, ssize_t got, size_t asked);

/* No turn to end, and no connection to learn of: the read is none of our business. */
static inline bool shim_ignores_read(int fd) {
    return LIKELY(self.turn == NULL) && LIKELY(!fds_conn(fds_word(fd)));
}

/* Before something that writes to, or waits on, a descriptor by a way that we
 * do not see inside (stdio, eventfd_write, dprintf). */
void shim_other_write(int fd);

/* ---- births and deaths ----------------------------------------------- */

void shim_socket_made(int fd, int domain, int type, int protocol);
void shim_accepted(int listener, int fd);
/* Before connect; and after, with its result. */
struct conn *shim_connect_begins(int fd);
void shim_connect_ended(struct conn *c, int fd, int result, int error,
                        const struct sockaddr *address, socklen_t length);
void shim_listens(int fd);
void shim_shuts(int fd, int how);

/* Before a descriptor is closed: what is held leaves, and it is forgotten. */
void shim_closing(int fd);
/* Before a range is closed, last included. */
void shim_closing_range(unsigned first, unsigned last);
/* `copy` leads to what `fd` leads to. */
void shim_duplicated(int fd, int copy);
/* Before dup2 and dup3, which close `copy`. */
void shim_replacing(int fd, int copy);
/* stdio takes fd: untracked from now on. */
void shim_untrack(int fd);
/* io_uring was set up in this process. */
void shim_uring(void);

/* ---- options --------------------------------------------------------- */

void shim_option_set(int fd, int level, int name, const void *value, socklen_t length);
/* Before the application sets an option. */
void shim_option_setting(int fd, int level, int name);
/* Patch what getsockopt gave back. */
void shim_option_got(int fd, int level, int name, void *value, socklen_t length);

/* ---- the connection's own business ----------------------------------- */

/* The connection of fd, locked, classified at first sight; NULL: not TCP, or
 * not known (no memory, no calls allowed). */
struct conn *shim_find(int fd);

/* Bring a connection up to date with what happened around it: the filters, the
 * configuration, a fork.  Lock held. */
void shim_refresh(struct conn *c);

/* fd leads to c, too.  If that is a number of stdio's, writes happen that we do not see.  Lock
 * held. */
void shim_shares(struct conn *c, int fd);

/* Tell a kept error to the application.  Lock held.  0, or the errno. */
int shim_take_error(struct conn *c);

#endif
