/* SPDX-License-Identifier: MIT
 *
 * The path of every exported call: find the connection, observe, decide (policy), act (hold, buffer, kernel),
 * account, and forward the call to the next definition of the function.  These functions set errno exactly as
 * the call without the library would.  Calls that the shim makes for itself leave errno unchanged.
 *
 * Calls on what is no TCP stream are forwarded unchanged; an unknown descriptor is classified first.
 */
#ifndef UNSTALL_SHIM_H
#define UNSTALL_SHIM_H

#include <sys/uio.h>

#include "fds.h"
#include "turn.h"

/* ---- writes ---------------------------------------------------------- */

/* One write, in the form in which the application made it. */
enum out_form { FORM_WRITE, FORM_WRITEV, FORM_SEND, FORM_SENDTO, FORM_SENDMSG, FORM_PWRITEV2 };

struct write_request {
    int fd;
    enum out_form form;
    bool raw;           /* made by syscall(2): no cancellation point; forwarded by syscall(2) */
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
/* The same for one contiguous buffer (FORM_WRITE, FORM_SEND, FORM_SENDTO without an
 * address): takes the fast path if it can, else the slow path. */
ssize_t shim_write_fast(int fd, const void *buffer, size_t bytes, int flags, enum out_form form,
                         uintptr_t caller);

/* The same in mode off: forward, count. */
ssize_t shim_one_in_off(int fd, const void *buffer, size_t bytes, int flags, enum out_form form,
                        struct conn *c);

/* True: a call on c is forwarded, and counted without the lock.  Mode off in force, and no statistics.  A new
 * connection is in mode off until it has adopted the configuration: so the mode is read behind the epoch. */
INLINE bool shim_only_counts_reads(const struct conn *c) {
    return LOAD(&c->policy.mode) == MODE_OFF && LOAD_ACQUIRE(&c->epoch) == config()->epoch &&
           LOAD(&c->policy.mode) == MODE_OFF && !LOAD(&c->evidence);
}
INLINE bool shim_only_counts(const struct conn *c) {
    return shim_only_counts_reads(c) && !LOAD(&c->held) && !LOAD(&c->buffer) && !LOAD(&c->pending_error) &&
           !LOAD(&c->aside);
}

/* The bytes of a write of any form. */
struct parts {
    const struct iovec *iov;
    size_t count;
    size_t bytes;
    struct iovec one;
    bool valid; /* false: forward the call unchanged, the kernel reports the error */
};

void shim_parts_of(const struct write_request *out, struct parts *p);
/* Makes the call as the application made it. */
ssize_t shim_forward(const struct write_request *out);
/* Makes it with MSG_MORE. */
ssize_t shim_forward_more(const struct write_request *o, const struct parts *p);

/* A call under way that may block: its connection, and the generation of the connection's slot
 * when the call began.  It is passed by value on the caller's stack, because a signal handler
 * that interrupts the call has calls of its own. */
struct call {
    struct conn *conn; /* NULL: no known connection */
    uint32_t generation;
};

/* Lock held. */
static inline struct call call_of(struct conn *c) {
    return (struct call){.conn = c, .generation = c->generation};
}

/* The call on the connection of fd, without its lock.  The second look at fd shows that the generation is its
 * own. */
static inline struct call call_on(int fd) {
    struct conn *c = fds_conn(fds_word(fd));
    struct call call = {.conn = c, .generation = c ? LOAD_ACQUIRE(&c->generation) : 0};
    return fds_conn(fds_word(fd)) == c ? call : (struct call){0};
}

/* True: another thread has closed the connection meanwhile, and its slot is free or holds another one.  Where
 * the lock cannot be had, what is set aside then may be for the next connection, but only where the
 * application closes one in the midst of its own call. */
static inline bool call_is_stale(struct call call) {
    return LOAD(&call.conn->generation) != call.generation;
}

/* Locks the connection of a call, unless another thread has closed it meanwhile.  False: not locked, or the
 * lock cannot be had. */
static inline bool call_lock(struct call call) {
    if (UNLIKELY(!conn_lock(call.conn)))
        return false;
    if (LIKELY(!call_is_stale(call)))
        return true;
    conn_unlock(call.conn);
    return false;
}

/* A call that moves bytes into `fd` but can be neither held nor buffered (sendfile, splice, sendmmsg).
 *
 * shim_bulk_begins() runs before the call.  `flags` are its MSG_ flags; `raw` means that it is no
 * cancellation point.  BULK_FAILS: do not make the call, errno is set and the result is -1.  BULK_ASIDE: it
 * stands behind bytes that only the holder of the lock can send (reentry.h). shim_bulk_ended() runs after it.
 * `moved` bytes left in `pieces` pieces; `more`: the application itself holds them back by MSG_MORE. */
enum bulk { BULK_GOES, BULK_FAILS, BULK_ASIDE };
enum bulk shim_bulk_begins(int fd, int flags, bool raw, struct call *call);
void shim_bulk_ended(struct call call, int fd, unsigned pieces, ssize_t moved, bool more,
                     uintptr_t caller);

/* A message passes descriptors to another process (SCM_RIGHTS).  Once the library has held bytes or set an
 * option (hold_acted), shim_messages_pass() runs before a sendmmsg(2), because it may have to restore
 * options.  Otherwise shim_descriptors_passed() runs after a send that succeeded: the kernel has read the
 * message. */
void shim_messages_pass(const struct mmsghdr *messages, unsigned count);
void shim_descriptors_passed(const struct msghdr *message);
/* A write of the form FORM_SENDMSG, with the same before or after it. */
ssize_t shim_write_message(const struct write_request *o);
/* Descriptors may have arrived: the kernel has filled in `message` and its control data. */
void shim_descriptors_arrive(const struct msghdr *message);

/* ---- reads ----------------------------------------------------------- */

/* Runs before a read, which may block unless `dont_wait`.  Pass the result to
 * shim_read_ends().  A read(2) of no bytes (`asked` is 0) asks no socket: it meets neither an error nor the
 * end.  A recv(2) of none does, and takes the error unless input is there; it passes RECV_OF_NONE. */
#define RECV_OF_NONE SIZE_MAX
struct call shim_read_begins(int fd, bool dont_wait);
ssize_t shim_read_ends(struct call call, ssize_t got, size_t asked);

/* The same of a recv(2) with these flags.  MSG_PEEK takes nothing away, and what it has seen may be older
 * than the message that is being written; what MSG_ERRQUEUE returns is this side's own.  So neither is
 * input. */
ssize_t shim_looked(struct call call, ssize_t got, size_t asked, int flags);
INLINE ssize_t shim_recv_ends(struct call call, ssize_t got, size_t asked, int flags) {
    return UNLIKELY(flags & (MSG_PEEK | MSG_ERRQUEUE)) ? shim_looked(call, got, asked, flags)
                                                       : shim_read_ends(call, got, asked);
}

INLINE ssize_t shim_count_input(struct call call, ssize_t got) {
    if (LIKELY(!call_is_stale(call))) {
        __atomic_fetch_add(&call.conn->counts.reads, 1, __ATOMIC_RELAXED);
        policy_forget_message(&call.conn->policy);
    }
    return got;
}

/* Runs before a write to, or a wait on, another descriptor than that of the open turn, which may block. */
void shim_other_write(int fd);

/* ---- creation, duplication and close ----------------------------------- */

void shim_socket_made(int fd, int domain, int type, int protocol);
void shim_accepted(int listener, int fd);
/* shim_connect_begins() runs before connect(2), shim_connect_ended() after it, with its result and errno. */
struct call shim_connect_begins(int fd);
void shim_connect_ended(struct call call, int result, const struct sockaddr *address, socklen_t length);
void shim_listens(int fd);
/* Runs before shutdown(2).  Returns the `how` of the program's call, or SHIM_SHUT_LATER: the kernel has no
 * room for buffered bytes, and the call is made when they are sent. */
enum { SHIM_SHUT_LATER = -2 };
int shim_shuts(int fd, int how);

/* Runs before a close: sends the held bytes and forgets the descriptor. */
void shim_closing(int fd);
/* Runs before a range of descriptors is closed; `last` is included. */
void shim_closing_range(unsigned first, unsigned last);
/* True: `*spared` is the lowest descriptor of the range that is ours.  It belongs to a connection whose last
 * bytes are still to be sent (turn.h), so the kernel must not close it. */
bool shim_spared(unsigned first, unsigned last, unsigned *spared);
/* A call that duplicates `fd` returned `copy`.  Returns that. */
int shim_duplicated(int fd, int copy);
/* The program of a child gets fd: it is among the file actions of posix_spawn(3), or a child of vfork(2),
 * which runs on our memory, has copied it. */
void shim_given(int fd);
/* Runs before dup2 and dup3, which close `copy`. */
void shim_replacing(int fd, int copy);
/* A stdio stream uses fd: its I/O is untracked from now on.  False: bytes stand in front of it. */
bool shim_untrack(int fd);
/* This process has set up an io_uring. */
void shim_uring(void);

/* ---- options --------------------------------------------------------- */

void shim_option_set(int fd, int level, int name, const void *value, socklen_t length);
/* Runs before the application sets an option. */
void shim_option_setting(int fd, int level, int name);
/* Corrects the value that getsockopt(2) has returned. */
void shim_option_got(int fd, int level, int name, void *value, socklen_t length);

/* ---- state of a connection --------------------------------------------- */

/* Returns the connection of fd, locked.  Classifies an unknown descriptor.  NULL: not TCP, or not known (no
 * memory, or no system calls allowed); or its lock cannot be had, and then fd still leads to it. */
struct conn *shim_lock_fd(int fd);

/* Brings a connection up to date after a change of filters or configuration, or a fork.  Lock held. */
void shim_refresh(struct conn *c);

/* fd is one more descriptor of c.  If a stdio stream uses fd, the library does not see all writes.
 * Lock held. */
void shim_shares(struct conn *c, int fd);

/* Takes the pending error, to report it to the application.  Lock held.  Returns 0 or the errno. */
int shim_take_error(struct conn *c);

/* ---- connections that get TCP_NODELAY when they are made (classify.c) ----- */

/* Runs when c has been made.  Lock held. */
void shim_nodelay_at_creation(struct conn *c);

/* At load: looks for liburing among the loaded libraries. */
void rings_start(void);

/* rings_before_connection() runs before a connection is recorded, so that the connection gets
 * TCP_NODELAY from its start.  rings_made() runs once it is recorded (lock held). */
void rings_before_connection(void);
void rings_made(struct conn *c);

/* True: c is connected and the library saw no byte of it (lock held).  At its end this is a reason for
 * rings_look(). */
bool rings_are_suspected(const struct conn *c);
void rings_look(void);

/* ---- the forms of a write (forms.c) --------------------------------------- */

/* True: the first `most` bytes of a valid write are readable memory. */
bool shim_parts_readable(const struct parts *p, size_t most);
/* True: the vector or the message is certainly readable memory. */
bool shim_surely_there(const struct write_request *o);
/* True: the write must not be delayed, because of MSG_OOB, ancillary data, an address … */
bool shim_special(const struct write_request *o);
bool shim_non_blocking(const struct write_request *o);
/* Fails a write as the kernel would: EPIPE raises SIGPIPE, too.  No lock held. */
ssize_t shim_fail(int error, int flags);

/* ---- errors of our own sends (aside.c) ---------------------------------- */

/* The application gets the pending error at this write.  Lock held; released.  Returns -1. */
ssize_t shim_tell_error(struct conn *c, int flags);

/* Opens the statistics file, and reads the live configuration.  Without a connection's lock. */
void shim_tally_catch_up(void);

/* ---- the lock cannot be had (aside.c, reentry.h) -------------------------- */

ssize_t aside_write(const struct write_request *o);

/* True: bytes of c may be in a buffer, or set aside: a write that cannot have the lock must stand behind. */
static inline bool aside_may_stand_behind(const struct conn *c) {
    enum window_state state = window_state();
    bool buffers = LOAD(&c->policy.mode) == MODE_COALESCE && !LOAD(&c->policy.never_buffer) &&
                   state != WINDOW_NEVER && state != WINDOW_REFUSED;
    return buffers || LOAD(&c->buffer) || conn_has_aside(c);
}

/* True: the interrupted code has bytes for fd that must leave first.  The caller of a sendfile, splice or
 * sendmmsg then makes aside_move() or aside_messages() instead. */
bool aside_stands_behind_slow(int fd);
ssize_t aside_move(int fd, int from, off64_t *offset, size_t bytes);
int aside_messages(int fd, struct mmsghdr *messages, unsigned count, int flags);

static inline bool aside_stands_behind(int fd) {
    return UNLIKELY(self.busy) && aside_stands_behind_slow(fd);
}

#endif
