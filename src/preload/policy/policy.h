/* SPDX-License-Identifier: MIT
 *
 * Policy decides what to do with a write, from the facts of its connection.
 * Pure: facts and time in, action out; no system call, no clock, no lock of
 * its own.  The caller holds the connection's lock.
 *
 * docs/design.md, "Words", says which message stalls.  A unit is the bytes that end a segment by the
 * application's doing: a plain write, or a corked run and its end.
 */
#ifndef UNSTALL_POLICY_H
#define UNSTALL_POLICY_H

#include "base.h"

/* ---- the model of turns -------------------------------------------------
 *
 * Predicts the last write of a turn from the connection's earlier turns.  Pure: no
 * clock, no system call, no lock of its own (the connection's lock protects it).
 *
 * For each position in a turn the model keeps the share of turns that ended
 * there, as a moving average.  A correct prediction costs no added system call, a
 * wrong "last" one more segment, a wrong "more" one push.  A segment costs several
 * times a push (docs/kernel.md: 1.5 against 1.12 for the same exchange), therefore
 * "last" needs a high share.
 */

enum {
    TURN_POSITIONS = 16,
    TURN_NEVER = 1, /* the share of a position at which no turn has ended for long, or each one has */
    TURN_ALWAYS = 255,
    TURN_LAST_BAR = 217, /* 85 %: see the costs above */
};

struct turn_model {
    uint8_t ended[TURN_POSITIONS]; /* 0: never seen; 1..255: share of turns that ended here */
};

enum turn_guess { TURN_UNKNOWN, TURN_MORE, TURN_LAST };

/* Predicts whether write number `position` (from 1) is the last of its turn; 0: no write yet. */
static inline enum turn_guess turn_predict(const struct turn_model *model, unsigned position) {
    if (position == 0)
        return TURN_UNKNOWN;
    uint8_t share = model->ended[(position < TURN_POSITIONS ? position : TURN_POSITIONS) - 1];
    if (share == 0)
        return TURN_UNKNOWN;
    return share >= TURN_LAST_BAR ? TURN_LAST : TURN_MORE;
}

/* A turn of `writes` writes (at least 1) has ended. */
void turn_learn(struct turn_model *model, unsigned writes);

/* ---- the decisions ------------------------------------------------------ */

/* Upper bound of policy.buffer_limit: bytes of one message that are buffered. */
enum { BUFFER_MOST = 16384 };

/* The numbers are those of the statistics file (enum stats_mode).  Their order tells what a mode does: those
 * from MODE_NODELAY on cure, those from MODE_CORK on may hold bytes. */
enum mode { MODE_OFF, MODE_OBSERVE, MODE_NODELAY, MODE_CORK, MODE_COALESCE, MODE_AUTO, MODES };

extern INTERNAL const char *const mode_names[MODES];

static inline bool mode_cures(enum mode mode) {
    return mode >= MODE_NODELAY;
}

struct policy_limits {
    uint32_t small; /* UNSTALL_SMALL: larger writes are neither held nor copied */
    bool override;  /* UNSTALL_OVERRIDE: the application's TCP_NODELAY=1 counts as unset */
    bool may_hold;
    bool windowless; /* only the kernel's timer (200 ms) bounds a hold, no thread of ours */
    uint32_t room;   /* coalesce: bytes that the buffer takes now; 0: no buffer, or it is being
                      * sent, or the kernel had no room for its bytes */
};

/* The part of a connection that policy reads and writes. */
struct policy {
    union {
        struct {
            uint8_t mode;         /* enum mode */
            bool app_nodelay : 1; /* as the application set it, or as it was at the start */
            bool app_cork : 1;
            bool app_more : 1;      /* its MSG_MORE bytes wait for the write that ends them */
            bool nodelay : 1;       /* TCP_NODELAY in the kernel, as far as we know */
            bool unsure : 1;        /* the application's options are not known: ask before acting */
            bool bursty : 1;        /* a message had two small writes, or a turn two writes under our
                                     * TCP_NODELAY: auto may hold */
            bool nodelay_only : 1;  /* only TCP_NODELAY from now on: prediction fails here */
            bool never_hold : 1;    /* the application tells its writes apart (SO_TIMESTAMPING) */
            bool untracked_io : 1;  /* writes may pass us by: never hold */
            bool mptcp : 1;         /* MSG_MORE joins nothing */
            bool established : 1;   /* the kernel has taken or delivered bytes, or connect succeeded */
            bool refuses : 1;       /* sending has ended (shutdown, EPIPE); input does not change that */
            bool input_ever : 1;    /* some input has arrived */
            bool from_cache : 1;    /* `bursty` and the model come from the endpoint cache */
            bool input_pending : 1; /* the application has left input unread (policy_leaves_input) */
            bool sndbuf_maybe_full : 1; /* the send buffer may have no room: do not buffer */
            bool large : 1;             /* ... only because this message exceeds buffer_limit */
            bool one_way : 1;           /* a stream of small writes without input: Nagle stays on */
            bool had_option : 1;        /* the application has set TCP_NODELAY or TCP_CORK before */
            bool hesitated : 1;         /* a write of this turn came late after the write before */
            bool window_joined : 1;     /* the window ended a hold that had joined WINDOW_JOINS writes */
            bool read_full : 1; /* the last read got all that it asked for: more may be queued */
            bool may_cross : 1; /* the input that ended the last message may be older than its last bytes */
            bool crosses : 1;   /* a write has been held behind a message before it: ask each time */
        };
        uint32_t facts; /* all of them: see POLICY_FACTS */
    };
    uint16_t buffer_limit;      /* most bytes buffered in a message; 0: not known yet */
    bool nodelay_uncertain;     /* another process shares the socket and may clear TCP_NODELAY */
    uint8_t window_ends;        /* holds that the window ended, decaying */
    uint8_t quick_turns;        /* in a row, up to HABIT: see policy_learns_habit() */
    uint8_t goes_on;            /* messages in a row that went on after a wait returned at once */
    uint8_t window_at;          /* the position at which the window last ended a hold of this turn */
    bool kept_turn : 1;         /* such a wait did not end this message's turn */
    bool never_buffer;          /* others may write to it: coalesce joins in the kernel */
    uint8_t crossings;          /* messages that showed a sign: see policy_takes_sign() */
    uint16_t position;          /* writes in the open turn */
    uint16_t units;             /* units in this message */
    uint16_t turns;             /* turns in this message */
    uint16_t small_writes;      /* small writes in this message, held ones included */
    uint16_t unanswered;        /* small writes before the first input of the connection */
    uint8_t large_units;        /* those counted by mss_is_old() */
    uint8_t single_turns;       /* coalesce: turns of one write in a row, up to HABIT */
    uint16_t smalls;            /* units of this message that leave a small segment */
    uint32_t mss;               /* 0: not asked yet */
    uint32_t first_unit;        /* bytes of the first unit of this message */
    uint32_t message_bytes;
    uint32_t pending; /* bytes that the application or we hold: the beginning of a unit */
    struct turn_model model;
};

/* A mask of facts, made by the compiler: POLICY_FACTS(.bursty = true, .unsure = true). */
#define POLICY_FACTS(...) (((struct policy){__VA_ARGS__}).facts)

struct policy_write {
    size_t bytes;
    bool more;    /* the application passed MSG_MORE */
    bool special; /* MSG_OOB, MSG_ZEROCOPY, ancillary data, an address …: never hold or buffer */
};

enum write_how { WRITE_PLAIN, WRITE_MORE, WRITE_COALESCE };

/* Without bit fields: the compiler would pack and unpack them at each step of policy_decide(). */
struct policy_action {
    enum write_how how;
    bool need_facts;  /* not decided: ask the kernel for the MSS and, if unsure, for the
                       * application's options, store them and ask policy again */
    bool late_push;   /* TCP_NODELAY=1 before this write */
    bool back_to_app; /* set TCP_NODELAY to the application's value before it (one-way stream) */
    bool ends_unit;   /* a unit ends with this write */
    bool small_unit;  /* ... counted as a small one */
    bool unanswered;  /* ... counted in policy.unanswered */
    bool small_write; /* counted as a small write of the message */
    bool suspected;   /* a second small unit with Nagle in force, not cured (observe) */
    bool crossing;    /* the first unit, and bytes of the message before may be unacknowledged: ask */
    bool burst;       /* the second small write of this message */
    bool new_message; /* the first write since input */
};

/* Without a window a wrong guess delays bytes by 200 ms.  So `auto` then holds only after HABIT quick
 * turns in a row.  A turn is quick if a tracked call ended it and no gap between its writes, or between
 * its last write and its end, exceeded HABIT_GAP_NS.  docs/decisions.md has the simulation that gave
 * the number. */
enum { HABIT = 16, HABIT_GAP_NS = 1000000 };

static inline bool policy_learns_habit(const struct policy *p) {
    return p->bursty && p->quick_turns < HABIT && p->mode == MODE_AUTO;
}

/* coalesce: the first write of a turn, where HABIT turns in a row had one write.  A copy of it would join
 * nothing.  A message of two small units ends that for good. */
static inline bool policy_expects_no_more(const struct policy *p) {
    return p->single_turns >= HABIT && p->mode == MODE_COALESCE && p->position <= 1 && !p->bursty;
}

/* A write of a turn comes `gap` ns after the write before it; 0 for the first one. */
static inline void policy_habit_piece(struct policy *p, uint64_t gap) {
    p->hesitated = p->position > 1 && (p->hesitated || gap > HABIT_GAP_NS);
}

/* The turn ends `gap` ns after its last write. */
static inline void policy_habit_turn(struct policy *p, uint64_t gap) {
    bool quick = p->position > 0 && !p->hesitated && gap <= HABIT_GAP_NS;
    p->quick_turns = (uint8_t)(quick ? p->quick_turns + 1 : 0);
}

/* True if this connection holds in the buffer of this process.  Else coalesce holds in the kernel, as cork
 * does: another process may write to the socket, and would overtake bytes in a buffer. */
static inline bool policy_buffers(const struct policy *p) {
    return p->mode == MODE_COALESCE && !p->never_buffer;
}

/* A cheap first test: false if no write of this connection can be held or buffered. */
static inline bool policy_might_hold(const struct policy *p) {
    return p->mode == MODE_CORK || p->mode == MODE_COALESCE || (p->mode == MODE_AUTO && p->bursty);
}

/* The application set TCP_NODELAY=1 or TCP_CORK=1, and the configuration respects it. */
static inline bool policy_left_alone(const struct policy *p, bool override) {
    return p->app_cork || (p->app_nodelay && !override);
}

/* True if bytes of this connection may be held in the kernel or buffered. */
static inline bool policy_may_hold(const struct policy *p, const struct policy_limits *limits) {
    return limits->may_hold && !p->untracked_io && !p->app_more && !p->nodelay_only &&
           !p->never_hold && !p->unsure && p->established &&
           !policy_left_alone(p, limits->override) && (policy_buffers(p) || !p->mptcp);
}

/* coalesce: the room in the kernel's send buffer is known. */
static inline bool policy_knows_sndbuf(const struct policy *p) {
    return p->buffer_limit && !p->sndbuf_maybe_full;
}

/* True if nothing is done about the next write, whatever its size: it is the first of a message, in a mode
 * that acts at the second. */
static inline bool policy_waits_for_second(const struct policy *p) {
    return (p->mode == MODE_NODELAY || (p->mode == MODE_AUTO && !p->bursty)) && p->units == 0 &&
           p->smalls == 0 && p->pending == 0 && !p->app_more;
}

struct policy_action policy_write(struct policy *p, const struct policy_limits *limits,
                                  const struct policy_write *w);

/* The write for which policy_write() returned `action` failed: undo its counts. */
void policy_unsent(struct policy *p, const struct policy_action *action, size_t bytes);

/* A push released the bytes held in the kernel: a unit ended, and Nagle did not delay it. */
void policy_pushed(struct policy *p);

/* Held or buffered bytes leave now, as one unit of `bytes`.  The action tells whether
 * TCP_NODELAY must be set first, so that Nagle does not delay them. */
struct policy_action policy_release(struct policy *p, const struct policy_limits *limits,
                                    size_t bytes);

/* The application cleared its own TCP_CORK: the corked bytes are a unit. */
struct policy_action policy_uncork(struct policy *p, const struct policy_limits *limits);

/* The kernel has taken a write, or a connect has succeeded. */
void policy_established(struct policy *p);
/* The kernel takes no more writes.  Nothing is held or buffered from now on, so that the kernel
 * refuses the next write itself. */
void policy_refuses(struct policy *p);
/* A connect(2) with AF_UNSPEC has dissolved the connection, with what was not sent. */
void policy_disconnected(struct policy *p);
/* A call of the application failed with `error` (errno).  Some errors end sending for good. */
void policy_met(struct policy *p, int error);
/* The kernel had no room for all of a write. */
void policy_no_room(struct policy *p);
/* `quick`: the turn continues a message after a wait that returned at once. */
static inline void policy_turn_begins(struct policy *p, bool quick) {
    p->position = 0;
    p->turns = (uint16_t)(p->turns + (p->turns != UINT16_MAX));
    if (UNLIKELY(quick) && p->turns == 2 && p->goes_on < UINT8_MAX)
        p->goes_on++;
}
/* The window ended a hold; where there is no window, the kernel's own timer (`by_kernel`). */
void policy_window_ended(struct policy *p, bool by_kernel);
/* A turn ends, and the window has ended a hold not long ago. */
void policy_window_turn_ends(struct policy *p);
/* True if the application's next wait is first tried with timeout zero. */
bool policy_asks_first(const struct policy *p);
/* The result of that try: `at_once` if the wait returned something. */
void policy_asked(struct policy *p, bool at_once);

#endif
