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
    NS_A_SECOND = 1000000000,         /* the most for tv_nsec; tv_usec may be more than a second */
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

/* The kernel refuses an unreadable or invalid timeout, so there is no try with another one: the turn ends. */
#define ASK_FIRST_UNTIL(timeout, fraction, only_writable, with_timeout_zero)                               \
    do {                                                                                                   \
        if (!can_ask(timeout, sizeof(*(timeout))) ||                                                       \
            ((timeout) && ((timeout)->tv_sec < 0 || (uint64_t)(timeout)->fraction >= NS_A_SECOND)))         \
            hold_end_turn(PUSH_WAIT);                                                                      \
        else                                                                                               \
            ASK_FIRST(only_writable, with_timeout_zero);                                                   \
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

/* EXPORT int name(parameters): without an open turn it goes to the next definition at once.  `ask` is one of
 * the macros above, for a call that `may_wait`. */
#define WAITS(name, parameters, arguments, may_wait, ask)        \
    NOINLINE int unstall_##name parameters {                     \
        if (UNLIKELY(self.turn != NULL) && (may_wait))           \
            ask;                                                 \
        return REAL(name) arguments;                             \
    }                                                            \
    EXPORT int name parameters {                                 \
        __typeof__(&name) next = REAL_FOUND(name);               \
        if (LIKELY(self.turn == NULL) && LIKELY(next != NULL))   \
            return next arguments;                               \
        return unstall_##name arguments;                         \
    }

WAITS(poll, (struct pollfd *fds, nfds_t count, int timeout), (fds, count, timeout), timeout != 0,
      ASK_FIRST(polls_writability(fds, count), REAL(poll)(fds, count, 0)))
ALSO(__poll, poll)

WAITS(ppoll, (struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
      (fds, count, timeout, mask), !IS_ZERO(timeout, tv_nsec),
      ASK_FIRST_UNTIL(timeout, tv_nsec, polls_writability(fds, count),
                      REAL(ppoll)(fds, count, &no_time, mask)))

/* The fortified forms check the array's size; the next definition does that. */
EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size) {
    if (size / sizeof(*fds) < count)
        return REAL(__poll_chk)(fds, count, timeout, size);
    return unstall_poll(fds, count, timeout);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                       const sigset_t *mask, size_t size) {
    if (size / sizeof(*fds) < count)
        return REAL(__ppoll_chk)(fds, count, timeout, mask, size);
    return unstall_ppoll(fds, count, timeout, mask);
}

/* select(2) overwrites its sets, so copies of them are put back.  0 also if the sets are too large, or
 * unreadable.  Not inlined: the copies are large. */
NOINLINE int ask_select(int count, fd_set *in, fd_set *out, fd_set *except, const sigset_t *mask) {
    fd_set *const given[] = {in, out, except};
    char before[ARRAY_SIZE(given)][SET_BYTES_LIMIT];
    size_t bytes = ((size_t)count + WORD_BITS - 1) / WORD_BITS * sizeof(long);
    struct timeval zero = {0, 0};
    if (count < 0 || bytes > SET_BYTES_LIMIT)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
        if (given[i] && !readable(given[i], bytes))
            return 0;
        if (given[i])
            memcpy(before[i], given[i], bytes);
    }
    int result = mask ? REAL(pselect)(count, in, out, except, &no_time, mask)
                      : REAL(select)(count, in, out, except, &zero);
    for (size_t i = 0; i < ARRAY_SIZE(given); i++)
        if (result == 0 && given[i])
            memcpy(given[i], before[i], bytes);
    return result;
}

#define ASK_SELECT(fraction, mask) \
    ASK_FIRST_UNTIL(timeout, fraction, out && !in && !except, ask_select(count, in, out, except, mask))

WAITS(select, (int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout),
      (count, in, out, except, timeout), !IS_ZERO(timeout, tv_usec), ASK_SELECT(tv_usec, NULL))
ALSO(__select, select)

WAITS(pselect,
      (int count, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
       const sigset_t *mask),
      (count, in, out, except, timeout, mask), !IS_ZERO(timeout, tv_nsec), ASK_SELECT(tv_nsec, mask))

WAITS(epoll_pwait, (int fd, struct epoll_event *events, int most, int timeout, const sigset_t *mask),
      (fd, events, most, timeout, mask), timeout != 0,
      ASK_FIRST(false, REAL(epoll_pwait)(fd, events, most, 0, mask)))

WAITS(epoll_wait, (int fd, struct epoll_event *events, int most, int timeout), (fd, events, most, timeout),
      timeout != 0, ASK_FIRST(false, REAL(epoll_wait)(fd, events, most, 0)))

WAITS(epoll_pwait2,
      (int fd, struct epoll_event *events, int most, const struct timespec *timeout, const sigset_t *mask),
      (fd, events, most, timeout, mask), !IS_ZERO(timeout, tv_nsec),
      ASK_FIRST_UNTIL(timeout, tv_nsec, false, REAL(epoll_pwait2)(fd, events, most, &no_time, mask)))

#ifdef WITH_TIME64
/* ---- the same with 64-bit times ---------------------------------------- */

static const struct timespec64 no_time64;

WAITS(__ppoll64, (struct pollfd *fds, nfds_t count, const struct timespec64 *timeout, const sigset_t *mask),
      (fds, count, timeout, mask), !IS_ZERO(timeout, tv_nsec),
      ASK_FIRST_UNTIL(timeout, tv_nsec, polls_writability(fds, count),
                      REAL(__ppoll64)(fds, count, &no_time64, mask)))

WAITS(__select64, (int count, fd_set *in, fd_set *out, fd_set *except, struct timeval64 *timeout),
      (count, in, out, except, timeout), !IS_ZERO(timeout, tv_usec), ASK_SELECT(tv_usec, NULL))

WAITS(__pselect64,
      (int count, fd_set *in, fd_set *out, fd_set *except, const struct timespec64 *timeout,
       const sigset_t *mask),
      (count, in, out, except, timeout, mask), !IS_ZERO(timeout, tv_nsec), ASK_SELECT(tv_nsec, mask))

WAITS(__epoll_pwait2_time64,
      (int fd, struct epoll_event *events, int most, const struct timespec64 *timeout, const sigset_t *mask),
      (fd, events, most, timeout, mask), !IS_ZERO(timeout, tv_nsec),
      ASK_FIRST_UNTIL(timeout, tv_nsec, false,
                      REAL(__epoll_pwait2_time64)(fd, events, most, &no_time64, mask)))
#endif
