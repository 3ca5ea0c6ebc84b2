/* SPDX-License-Identifier: MIT
 *
 * Policy: what to do with a write, given what is known of its connection.
 * Pure: facts and time in, action out; no system call, no clock, no lock of
 * its own.  The caller holds the connection's lock.
 *
 * Words (docs/design.md): a unit is a run of bytes that ends a segment by the
 * application's own doing: one plain write, or a run of writes that the
 * application itself corked (MSG_MORE, TCP_CORK) with the one that ends it, or
 * what we held or buffered and then let go.  A small unit after one that left a small
 * segment (a small one, or a large one with a small tail), in one message and with
 * Nagle in force, is the illness.
 */
#ifndef UNSTALL_POLICY_H
#define UNSTALL_POLICY_H

#include "base.h"
#include "turn.h"

/* The most that is buffered of one message (policy.buffer_limit). */
enum { BUFFER_MOST = 16384 };

enum mode { MODE_OFF, MODE_OBSERVE, MODE_NODELAY, MODE_CORK, MODE_COALESCE, MODE_AUTO, MODE_COUNT };

extern const char *const mode_names[MODE_COUNT];

static inline bool mode_cures(enum mode mode) {
    return mode >= MODE_NODELAY;
}

struct policy_limits {
    uint32_t small; /* UNSTALL_SMALL: the most bytes that are held or copied */
    bool override;  /* UNSTALL_OVERRIDE: the application's TCP_NODELAY=1 counts as unset */
    bool may_hold;
    bool windowless; /* no thread of ours bounds a hold, only the kernel's timer (200 ms) */
    uint32_t room;   /* coalesce: the most bytes that the buffer takes now; 0: none is to be had, it is
                      * being sent, or the kernel had no room for it */
};

/* The part of a connection that policy reads and writes. */
struct policy {
    uint8_t mode;         /* enum mode */
    bool app_nodelay : 1; /* what the application set, or found */
    bool app_cork : 1;
    bool app_more : 1;    /* its MSG_MORE bytes wait for the write that ends them */
    bool nodelay : 1;     /* TCP_NODELAY as the kernel has it, as far as we know */
    bool unsure : 1;      /* the application's options are not known: ask before acting */
    bool bursty : 1;         /* the illness was seen here: writes come in bursts */
    bool nodelay_only : 1; /* it defied prediction: TCP_NODELAY alone from now on */
    bool never_hold : 1;   /* its writes are told apart (SO_TIMESTAMPING and its like) */
    bool untracked_io : 1;        /* writes happen that we do not see: never hold */
    bool no_more : 1;     /* MSG_MORE means nothing or something else here (MPTCP, TCP_ULP) */
    bool established : 1; /* the kernel has accepted or delivered bytes, or connect succeeded */
    bool refuses : 1; /* the sending side has ended (shut down, EPIPE): input does not revive it */
    bool input_ever : 1;
    bool from_cache : 1; /* `ill` and the model are from siblings, whose messages were answered */
    bool input_pending : 1; /* known: more input waits than the application has read */
    bool sndbuf_maybe_full : 1;       /* the send buffer may be full: buffer nothing that may find no room */
    bool large : 1;         /* ... only because this message is larger than what is buffered */
    bool one_way : 1;       /* a stream of small writes that nobody answers: Nagle's own case */
    bool had_option : 1;    /* the application has set TCP_NODELAY or TCP_CORK at some time */
    bool hesitated : 1;     /* a piece of this turn came late behind the one before */
    uint16_t buffer_limit;  /* most bytes buffered in a message; 0: not known yet */
    bool nodelay_uncertain;          /* another process has it and may set TCP_NODELAY back at any time */
    uint8_t window_ends;    /* holds that the window had to end, decaying */
    uint8_t quick_turns;    /* in a row, up to HABIT: see policy_learns_habit() */
    uint8_t goes_on;        /* messages in a row that went on after a wait that returned at once */
    bool kept_turn;         /* such a wait did not end this message's turn */
    uint16_t position;      /* writes in the open turn */
    uint16_t units;         /* units in this message */
    uint16_t turns;         /* turns in this message */
    uint16_t small_writes;  /* small writes in this message, held ones too */
    uint16_t unanswered;    /* small writes since birth, while there was no input at all */
    uint32_t mss;           /* 0: not asked yet */
    uint32_t first_unit;    /* bytes of the first unit of this message */
    uint32_t smalls;        /* units of this message that left, or leave, a small segment */
    uint32_t message_bytes;
    uint32_t pending; /* bytes held by the application or by us: the beginning of a unit */
    struct turn_model model;
};

struct policy_write {
    size_t bytes;
    bool more; /* the application passed MSG_MORE */
    bool
        special; /* MSG_OOB, MSG_ZEROCOPY, ancillary data, an address …: never hold, never buffer */
};

enum write_how { WRITE_PLAIN, WRITE_MORE, WRITE_COALESCE };

/* No bit fields: the compiler would pack and unpack them at each step of policy_decide(). */
struct policy_action {
    enum write_how how;
    bool need_facts;  /* nothing decided: ask the kernel for the MSS and, if unsure, for the
                           * application's options, store them and ask policy again */
    bool late_push;   /* TCP_NODELAY=1 before this write */
    bool back_to_app; /* TCP_NODELAY = the application's value before it (one-way stream) */
    bool ends_unit;   /* this write lets go of bytes: a unit ends with it */
    bool small_unit;  /* ... counted as a small one */
    bool unanswered;  /* ... counted among those that nobody ever answered */
    bool small_write; /* counted as a small write of the message */
    bool suspected;   /* a second small unit with Nagle in force, left as it is (observe) */
    bool burst;       /* the second small write of this message */
    bool new_message; /* the first write since input */
};

/* Without a window a wrong guess costs a late piece (200 ms).  So auto holds by a proved habit alone:
 * HABIT turns in a row that ended by a call that we see, no piece later than HABIT_GAP_NS behind the one
 * before, nor the end behind the last.  docs/decisions.md has the simulation behind the number. */
enum { HABIT = 16, HABIT_GAP_NS = 1000000 };

static inline bool policy_learns_habit(const struct policy *p) {
    return p->bursty && p->quick_turns < HABIT && p->mode == MODE_AUTO;
}

/* A piece of a turn, or its end, comes `gap` ns behind the piece before; 0 for the first. */
static inline void policy_habit_piece(struct policy *p, uint64_t gap) {
    p->hesitated = p->position > 1 && (p->hesitated || gap > HABIT_GAP_NS);
}
static inline void policy_habit_turn(struct policy *p, uint64_t gap) {
    bool quick = p->position > 0 && !p->hesitated && gap <= HABIT_GAP_NS;
    p->quick_turns = (uint8_t)(quick ? p->quick_turns + 1 : 0);
}

/* Cheap: could any write of this connection be held or buffered at all? */
static inline bool policy_might_hold(const struct policy *p) {
    return p->mode == MODE_CORK || p->mode == MODE_COALESCE || (p->mode == MODE_AUTO && p->bursty);
}

/* The application's own wish that we respect: TCP_NODELAY=1 or TCP_CORK=1. */
static inline bool policy_left_alone(const struct policy *p, bool override) {
    return p->app_cork || (p->app_nodelay && !override);
}

/* May bytes be held in the kernel, or buffered by us, on this connection? */
static inline bool policy_may_hold(const struct policy *p, const struct policy_limits *limits) {
    return limits->may_hold && !p->untracked_io && !p->app_more && !p->nodelay_only && !p->never_hold &&
           !p->unsure && p->established && !policy_left_alone(p, limits->override) &&
           (p->mode == MODE_COALESCE || !p->no_more);
}

/* coalesce: the room in the kernel's send buffer is known. */
static inline bool policy_knows_sndbuf(const struct policy *p) {
    return p->buffer_limit && !p->sndbuf_maybe_full;
}

/* Whatever the size of the next write, nothing will be done about it: it is the first of a
 * message, in a mode that acts at the second. */
static inline bool policy_waits_for_second(const struct policy *p) {
    return (p->mode == MODE_NODELAY || (p->mode == MODE_AUTO && !p->bursty)) && p->units == 0 &&
           p->smalls == 0 && p->pending == 0 && !p->app_more;
}

struct policy_action policy_write(struct policy *p, const struct policy_limits *limits,
                                  const struct policy_write *w);

/* The write of which policy_write() said `action` failed: nothing of it counts. */
void policy_unsent(struct policy *p, const struct policy_action *action, size_t bytes);

/* What we held in the kernel was pushed: a unit ended, Nagle had no say in it. */
void policy_pushed(struct policy *p);

/* Bytes that we held or buffered leave now, as one unit of `bytes`.  Says whether
 * TCP_NODELAY must be set first so that Nagle does not keep them. */
struct policy_action policy_release(struct policy *p, const struct policy_limits *limits,
                                    size_t bytes);

/* The application took its own TCP_CORK off: its hold ends as a unit. */
struct policy_action policy_uncork(struct policy *p, const struct policy_limits *limits);

/* The kernel has taken a write (or a connect has succeeded), or takes none any more:
 * from then on nothing is held or buffered, the next write is the kernel's to refuse. */
void policy_established(struct policy *p);
void policy_refuses(struct policy *p);
/* Some call of the application has returned `error` (errno): is that the end of the sending side? */
void policy_met(struct policy *p, int error);
/* The kernel had no room for all of a write. */
void policy_no_room(struct policy *p);
/* `quick`: it goes on with a message after a wait that returned at once. */
static inline void policy_turn_begins(struct policy *p, bool quick) {
    p->position = 0;
    p->turns = (uint16_t)(p->turns + (p->turns != UINT16_MAX));
    if (UNLIKELY(quick) && p->turns == 2 && p->goes_on < UINT8_MAX)
        p->goes_on++;
}
/* The window had to end a hold. */
void policy_window_ended(struct policy *p);
/* ... or, where no window is kept, the kernel's own timer. */
void policy_kernel_ended(struct policy *p);
/* The application's next wait may be asked first with timeout zero. */
bool policy_asks_first(const struct policy *p);
/* ... and its answer: did anything come back at once? */
void policy_asked(struct policy *p, bool at_once);

#endif
