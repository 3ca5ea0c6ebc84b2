/* SPDX-License-Identifier: MIT
 *
 * Waits for readiness.  A wait with timeout zero ends no turn.  Two kinds of waits are first
 * tried with timeout zero: a wait for writability only, while bytes are held (a send buffer
 * full of held bytes waited 200 ms); and a wait on a connection whose messages usually go on
 * after a wait that returns at once.
 */
#include <string.h>

#include "exports.h"

enum {
    WORD_BITS = 8 * sizeof(long), /* the kernel goes by words of a set */
    SET_BYTES_LIMIT = FD_SETSIZE / 8, /* larger sets are not copied: threads have small stacks */
    MOST_POLLED = 512                 /* the events of larger arrays are not examined */
};

/* The result of the try with timeout zero.  True: it is final.  False: the turn ends if it must,
 * and the real wait follows. */
static bool asked(int result) {
    bool at_once = result != 0;
    hold_asked(at_once);
    if (!at_once)
        hold_end_turn(PUSH_WAIT);
    return at_once;
}

#define ASK_FIRST(only_writable, with_timeout_zero) \
    do {                                            \
        if (hold_before_poll(only_writable)) {      \
            int result = with_timeout_zero;         \
            if (asked(result))                      \
                return result;                      \
        }                                           \
    } while (0)

/* The kernel may refuse an unreadable timeout, so there is no try with another one: the turn ends. */
#define ASK_FIRST_UNTIL(timeout, only_writable, with_timeout_zero) \
    do {                                                           \
        if (!can_ask(timeout, sizeof(*(timeout))))                 \
            hold_end_turn(PUSH_WAIT);                              \
        else                                                       \
            ASK_FIRST(only_writable, with_timeout_zero);           \
    } while (0)

static bool can_ask(const void *timeout, size_t bytes) {
    return hold_looks() && (!timeout || readable(timeout, bytes));
}

static inline bool polls_writability(const struct pollfd *fds, nfds_t count) {
    if (!hold_looks() || count - 1 >= MOST_POLLED || !readable(fds, count * sizeof(*fds)))
        return false;
    for (nfds_t i = 0; i < count; i++)
        if (fds[i].fd >= 0 && (fds[i].events & (POLLIN | POLLPRI | POLLRDNORM | POLLRDBAND)))
            return false;
    return true;
}

static const struct timespec no_time;

/* Without an open turn an exported wait goes to the next definition at once.  All other work is in functions
 * that are not inlined, so that only they save registers. */
#define NOINLINE static __attribute__((noinline))

#define WAITS(name, parameters, arguments)                       \
    EXPORT int name parameters {                                 \
        __typeof__(&name) next = REAL_FOUND(name);               \
        if (LIKELY(self.turn == NULL) && LIKELY(next != NULL))   \
            return next arguments;                               \
        return unstall_##name arguments;                         \
    }

NOINLINE int unstall_poll(struct pollfd *fds, nfds_t count, int timeout) {
    if (LIKELY(self.turn == NULL) || timeout == 0)
        return REAL(poll)(fds, count, timeout);
    ASK_FIRST(polls_writability(fds, count), REAL(poll)(fds, count, 0));
    return REAL(poll)(fds, count, timeout);
}

NOINLINE int unstall_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                         const sigset_t *mask) {
    if (UNLIKELY(self.turn != NULL) && !IS_ZERO(timeout, tv_nsec))
        ASK_FIRST_UNTIL(timeout, polls_writability(fds, count),
                        REAL(ppoll)(fds, count, &no_time, mask));
    return REAL(ppoll)(fds, count, timeout, mask);
}

WAITS(poll, (struct pollfd *fds, nfds_t count, int timeout), (fds, count, timeout))
ALSO(__poll, poll)

/* The fortified forms check the array's size; the next definition does that. */
EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size) {
    if (size / sizeof(*fds) < count)
        return REAL(__poll_chk)(fds, count, timeout, size);
    return unstall_poll(fds, count, timeout);
}

WAITS(ppoll, (struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
      (fds, count, timeout, mask))

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                       const sigset_t *mask, size_t size) {
    if (size / sizeof(*fds) < count)
        return REAL(__ppoll_chk)(fds, count, timeout, mask, size);
    return unstall_ppoll(fds, count, timeout, mask);
}

/* select(2) overwrites its sets: ask with copies. */
struct sets {
    size_t bytes;
    fd_set *given[3];
    char before[3][SET_BYTES_LIMIT];
};

/* False: the sets are too large, or unreadable. */
static bool save_sets(struct sets *s, int count, fd_set *in, fd_set *out, fd_set *except) {
    s->bytes = ((size_t)count + WORD_BITS - 1) / WORD_BITS * sizeof(long);
    s->given[0] = in;
    s->given[1] = out;
    s->given[2] = except;
    if (count < 0 || s->bytes > SET_BYTES_LIMIT)
        return false;
    for (int i = 0; i < 3; i++) {
        if (!s->given[i])
            continue;
        if (!readable(s->given[i], s->bytes))
            return false;
        memcpy(s->before[i], s->given[i], s->bytes);
    }
    return true;
}

static void restore_sets(const struct sets *s) {
    for (int i = 0; i < 3; i++)
        if (s->given[i])
            memcpy(s->given[i], s->before[i], s->bytes);
}

static int ask_select(struct sets *s, int count, const sigset_t *mask) {
    if (mask)
        return REAL(pselect)(count, s->given[0], s->given[1], s->given[2], &no_time, mask);
    struct timeval zero = {0, 0};
    return REAL(select)(count, s->given[0], s->given[1], s->given[2], &zero);
}

/* Not inlined: the copies are large.  True: `*result` is final. */
__attribute__((noinline)) static bool select_first(int count, fd_set *in, fd_set *out,
                                                   fd_set *except, const sigset_t *mask,
                                                   int *result) {
    struct sets s;
    if (!hold_before_poll(out && !in && !except))
        return false;
    if (!save_sets(&s, count, in, out, except)) {
        hold_end_turn(PUSH_WAIT);
        return false;
    }
    *result = ask_select(&s, count, mask);
    if (asked(*result))
        return true;
    restore_sets(&s);
    return false;
}

/* True: `*result` is final; else the real wait follows. */
static bool select_asks(const void *timeout, size_t bytes, int count, fd_set *in, fd_set *out,
                        fd_set *except, const sigset_t *mask, int *result) {
    if (can_ask(timeout, bytes))
        return select_first(count, in, out, except, mask, result);
    hold_end_turn(PUSH_WAIT);
    return false;
}

NOINLINE int unstall_select(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout) {
    int result;
    if (UNLIKELY(self.turn != NULL) && !IS_ZERO(timeout, tv_usec) &&
        select_asks(timeout, sizeof(*timeout), count, in, out, except, NULL, &result))
        return result;
    return REAL(select)(count, in, out, except, timeout);
}
WAITS(select, (int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout),
      (count, in, out, except, timeout))
ALSO(__select, select)

NOINLINE int unstall_pselect(int count, fd_set *in, fd_set *out, fd_set *except,
                             const struct timespec *timeout, const sigset_t *mask) {
    int result;
    if (UNLIKELY(self.turn != NULL) && !IS_ZERO(timeout, tv_nsec) &&
        select_asks(timeout, sizeof(*timeout), count, in, out, except, mask, &result))
        return result;
    return REAL(pselect)(count, in, out, except, timeout, mask);
}
WAITS(pselect,
      (int count, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
       const sigset_t *mask),
      (count, in, out, except, timeout, mask))

NOINLINE int unstall_epoll_pwait(int fd, struct epoll_event *events, int most, int timeout,
                                 const sigset_t *mask) {
    if (UNLIKELY(self.turn != NULL) && timeout != 0)
        ASK_FIRST(false, REAL(epoll_pwait)(fd, events, most, 0, mask));
    return REAL(epoll_pwait)(fd, events, most, timeout, mask);
}
WAITS(epoll_pwait, (int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask),
      (fd, events, most, timeout, mask))

NOINLINE int unstall_epoll_wait(int fd, struct epoll_event *events, int most, int timeout) {
    if (UNLIKELY(self.turn != NULL) && timeout != 0)
        ASK_FIRST(false, REAL(epoll_wait)(fd, events, most, 0));
    return REAL(epoll_wait)(fd, events, most, timeout);
}
WAITS(epoll_wait, (int fd, struct epoll_event *events, int most, int timeout), (fd, events, most, timeout))

NOINLINE int unstall_epoll_pwait2(int fd, struct epoll_event *events, int most,
                                  const struct timespec *timeout, const sigset_t *mask) {
    if (UNLIKELY(self.turn != NULL) && !IS_ZERO(timeout, tv_nsec))
        ASK_FIRST_UNTIL(timeout, false, REAL(epoll_pwait2)(fd, events, most, &no_time, mask));
    return REAL(epoll_pwait2)(fd, events, most, timeout, mask);
}
WAITS(epoll_pwait2,
      (int fd, struct epoll_event *events, int most, const struct timespec *timeout, const sigset_t *mask),
      (fd, events, most, timeout, mask))

#ifdef WITH_TIME64
/* ---- the same with 64-bit times ---------------------------------------- */

static const struct timespec64 no_time64;

EXPORT int __ppoll64(struct pollfd *fds, nfds_t count, const struct timespec64 *timeout,
                     const sigset_t *mask) {
    if (UNLIKELY(self.turn != NULL) && !IS_ZERO(timeout, tv_nsec))
        ASK_FIRST_UNTIL(timeout, polls_writability(fds, count),
                        REAL(__ppoll64)(fds, count, &no_time64, mask));
    return REAL(__ppoll64)(fds, count, timeout, mask);
}

EXPORT int __select64(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval64 *timeout) {
    int result;
    if (UNLIKELY(self.turn != NULL) && !IS_ZERO(timeout, tv_usec) &&
        select_asks(timeout, sizeof(*timeout), count, in, out, except, NULL, &result))
        return result;
    return REAL(__select64)(count, in, out, except, timeout);
}

EXPORT int __pselect64(int count, fd_set *in, fd_set *out, fd_set *except,
                       const struct timespec64 *timeout, const sigset_t *mask) {
    int result;
    if (UNLIKELY(self.turn != NULL) && !IS_ZERO(timeout, tv_nsec) &&
        select_asks(timeout, sizeof(*timeout), count, in, out, except, mask, &result))
        return result;
    return REAL(__pselect64)(count, in, out, except, timeout, mask);
}

EXPORT int __epoll_pwait2_time64(int fd, struct epoll_event *events, int most,
                                 const struct timespec64 *timeout, const sigset_t *mask) {
    if (UNLIKELY(self.turn != NULL) && !IS_ZERO(timeout, tv_nsec))
        ASK_FIRST_UNTIL(timeout, false,
                        REAL(__epoll_pwait2_time64)(fd, events, most, &no_time64, mask));
    return REAL(__epoll_pwait2_time64)(fd, events, most, timeout, mask);
}
#endif
