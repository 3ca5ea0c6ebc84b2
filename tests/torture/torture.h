/* SPDX-License-Identifier: MIT
 *
 * The tortured program.  Its operations are small functions of an actor (a
 * thread, or a forked child, with a generator of its own) and a link that the
 * actor has for itself.  Every operation checks the results of its calls against a bare program's possible
 * ones, and notes the accepted bytes.
 *
 * Nothing here uses malloc or stdio, except where the test is about them: forked
 * children of a program with threads run the same operations.
 */
#ifndef TORTURE_H
#define TORTURE_H

#include <sys/types.h>

#include "shared.h"

struct actor {
    uint64_t random;
    uint16_t number;   /* of the thread; + 100 for its forked children */
    uint16_t sequence; /* operations so far */
    bool child;        /* in a forked child: no threads, no children of its own */
    int pipe[2];       /* a pipe for splice */
};

extern struct shared *shared;
extern int streams_file; /* the table of all streams, for sendfile: its pages leave by reference */
extern bool alarms;      /* SIGALRM comes at random moments: EINTR is to be expected */
/* There were children.  system(3) blocks signals in its thread, and libc does for a moment in fork,
 * posix_spawn and pthread_create.  The kernel then wakes another thread for SIGCHLD, and its blocking write
 * returns the bytes written so far.  Bare programs see that, too (1991 of 1992 writes, where the main thread
 * blocks signals for a millisecond). */
extern bool had_children;
/* Streams of stdio with bytes: a child that is forked meanwhile and ends by exit(3) writes them again. */
extern unsigned open_streams;

/* TORTURE_WITHOUT: names of operations, with commas between, that this program replaces or leaves out,
 * because a sanitizer's runtime cannot do them (scripts/sanitize has the reasons). */
enum without {
    WITHOUT_BARE_FORK = 1,     /* "_Fork" */
    WITHOUT_LAST_EXIT = 2,     /* "pthread_exit": by main's thread, the last one */
    WITHOUT_UNSEEN_CLOSE = 4,  /* "unseen-close": by syscall(2) or close_range(2) */
    WITHOUT_CANCEL_ASLEEP = 8, /* "cancel-asleep": in poll, select, epoll_wait, nanosleep */
};
extern unsigned without;

/* TORTURE_FAULT: an error that this program makes once; its judges must find it. */
enum fault { NO_FAULT, WRONG_BYTE, LOST_BYTE, LATE_BYTE, WRONG_RETURN, HANG };
extern _Atomic(enum fault) fault; /* one thread does it and clears it, the others look */

static inline uint32_t below(struct actor *a, uint32_t limit) {
    return random_below(&a->random, limit);
}

/* once in `n` times */
static inline bool once_in(struct actor *a, uint32_t n) {
    return below(a, n) == 0;
}

/* ---- main.c ---------------------------------------------------------- */

/* Something was seen that no bare program could see: say so, end everything. */
__attribute__((noreturn, format(printf, 3, 4))) void
violation(const struct actor *a, const struct link *link, const char *format, ...);

/* Notes one line, to find a fault by. */
__attribute__((format(printf, 3, 4))) void note(const struct actor *a, const struct link *link,
                                                const char *format, ...);
/* `count` random operations of `a` on a link that it keeps; false: the link has ended. */
bool operate_on(struct actor *a, struct link *link);
void actor_begins(struct actor *a, uint64_t random, unsigned number);
void actor_ends(struct actor *a);

/* ---- link.c: opening, ending, accounting ----------------------------- */

struct link *link_open(struct actor *a);
/* The calls accepted `bytes`. */
void link_sent(struct link *link, size_t bytes);
/* Its own hold has begun: the kernel joins unsent bytes to it, of a full buffer say, and keeps them too (213
 * ms, in every mode). */
void link_keeps(struct link *link);
/* Its own hold (TCP_CORK, MSG_MORE) ends, as a sane program's would before it waits. */
void link_release(struct actor *a, struct link *link);
/* Unread bytes of replies, sent by the peer or due. */
uint64_t link_owed(const struct link *link);
/* Read all replies: afterwards a close resets nothing. */
void link_settle(struct actor *a, struct link *link);
/* Write a little more without provoking a reply. */
void link_write_tail(struct actor *a, struct link *link);
/* Settle, perhaps write a tail, say how it ends, and close in one of many ways. */
void link_end(struct actor *a, struct link *link);
void set_nonblocking(struct actor *a, struct link *link, bool on);

/* ---- put.c, forms.c: writes ------------------------------------------ */

struct piece {
    const char *bytes;
    size_t place; /* ... in streams_file */
    size_t length;
    int flags; /* MSG_* */
};

typedef ssize_t put_form(struct actor *a, int fd, const struct piece *piece);
extern put_form *const put_forms[];
extern const unsigned put_form_count;

size_t random_size(struct actor *a);
/* One call; returns the accepted number, 0 when it would block or was interrupted. */
size_t put_once(struct actor *a, struct link *link, size_t bytes, int flags);
/* Until all is accepted. */
void put_all(struct actor *a, struct link *link, size_t bytes, int flags);
void wait_writable(struct actor *a, struct link *link);
void op_put(struct actor *a, struct link *link);
void op_put_small(struct actor *a, struct link *link);
void op_put_nothing(struct actor *a, struct link *link);
void op_put_edge_triggered(struct actor *a, struct link *link);
void op_put_stdio(struct actor *a, struct link *link);

/* ---- take.c: reads and exchanges ------------------------------------- */

/* Read and check at most `most` bytes; 0 when there is nothing. */
size_t take(struct actor *a, struct link *link, size_t most);
void op_take(struct actor *a, struct link *link);
void op_exchange(struct actor *a, struct link *link);
void op_peek(struct actor *a, struct link *link);

/* ---- wait.c ---------------------------------------------------------- */

void op_wait(struct actor *a, struct link *link);
void op_option(struct actor *a, struct link *link);

/* ---- life.c: copies, numbers reused ------------------------------ */

void op_copy(struct actor *a, struct link *link);
void op_move(struct actor *a, struct link *link);
void op_pass(struct actor *a, struct link *link);
/* Close link->fd in one of many ways; something else may be born as its number. */
void close_somehow(struct actor *a, struct link *link);

/* ---- process.c, threads.c -------------------------------------------- */

bool op_fork(struct actor *a, struct link *link);
void op_run_program(struct actor *a, struct link *link);
void children_wait(struct actor *a);
bool op_elsewhere(struct actor *a, struct link *link);
void op_helper(struct actor *a, struct link *link);
void op_cancel(struct actor *a, struct link *link);
bool op_cancel_write(struct actor *a, struct link *link);

/* ---- alarm.c: a signal handler with a link of its own ---------------- */

void alarm_begins(struct actor *a, bool restart);
void alarm_ends(struct actor *a);
/* In a thread that will be cancelled. */
void alarm_not_here(void);

#endif
