/* SPDX-License-Identifier: MIT
 *
 * Policy decides what to do with a write, from the facts of its connection.
 * Pure: facts and time in, action out; no system call, no clock, no lock of its own.  The caller holds the
 * connection's lock.  docs/design.md, "Words", says which message stalls, and what a unit is.
 */
#ifndef UNSTALL_POLICY_H
#define UNSTALL_POLICY_H

#include "base.h"

/* ---- the model of turns -------------------------------------------------
 *
 * Predicts the last write of a turn from the connection's earlier turns.  For each position in a turn it
 * keeps the share of turns that ended there, as a moving average.  A correct prediction costs no added system
 * call, a wrong "last" one more segment, a wrong "more" one push.  A segment costs several times a push
 * (docs/kernel.md: 1.5 against 1.12 for the same exchange), therefore "last" needs a high share.
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
static inline enum turn_guess policy_predict_turn(const struct turn_model *model, unsigned position) {
    if (position == 0)
        return TURN_UNKNOWN;
    uint8_t share = model->ended[(position < TURN_POSITIONS ? position : TURN_POSITIONS) - 1];
    if (share == 0)
        return TURN_UNKNOWN;
    return share >= TURN_LAST_BAR ? TURN_LAST : TURN_MORE;
}

/* A turn of `writes` writes (at least 1) has ended. */
void policy_learn_turn(struct turn_model *model, unsigned writes);

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
            bool input_pending : 1; /* the application has left input unread (PENDING_READ) */
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

/* Without a window a wrong guess delays bytes by 200 ms.  So `auto` then holds only after HABIT quick turns
 * in a row.  A turn is quick if a tracked call ended it and no gap between its writes, or between its last
 * write and its end, exceeded HABIT_GAP_NS.  docs/decisions.md has the table that gave the number. */
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

/* A cheap first test: false if this write of the turn, whatever its size, cannot be held or buffered. */
static inline bool policy_might_hold(const struct policy *p) {
    return p->mode == MODE_CORK || (p->mode == MODE_COALESCE && !policy_expects_no_more(p)) ||
           (p->mode == MODE_AUTO && p->bursty);
}

/* The application set TCP_NODELAY=1 or TCP_CORK=1, and the configuration respects it. */
static inline bool policy_app_decides(const struct policy *p, bool override) {
    return p->app_cork || (p->app_nodelay && !override);
}

/* True if bytes of this connection may be held in the kernel or buffered. */
static inline bool policy_may_hold(const struct policy *p, const struct policy_limits *limits) {
    return limits->may_hold && !p->untracked_io && !p->app_more && !p->nodelay_only &&
           !p->never_hold && !p->unsure && p->established &&
           !policy_app_decides(p, limits->override) && (policy_buffers(p) || !p->mptcp);
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
static inline void policy_established(struct policy *p) {
    p->established = true;
    p->refuses = false;
}
/* The kernel takes no more writes.  Nothing is held or buffered from now on, so that the kernel
 * refuses the next write itself. */
static inline void policy_refuses(struct policy *p) {
    p->established = false;
    p->refuses = true;
}
/* A connect(2) with AF_UNSPEC has dissolved the connection, with what was not sent. */
void policy_disconnected(struct policy *p);
/* A call of the application failed with `error` (errno).  Some errors end sending for good. */
void policy_met(struct policy *p, int error);
/* The kernel had no room for all of a write. */
static inline void policy_no_room(struct policy *p) {
    p->sndbuf_maybe_full = true;
    p->large = false;
}
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
static inline bool policy_asks_first(const struct policy *p) {
    enum { GOES_ON = 2 };
    return p->goes_on >= GOES_ON &&
           (!p->bursty || policy_predict_turn(&p->model, p->position) != TURN_LAST);
}
/* The result of that try: `at_once` if the wait returned something. */
static inline void policy_asked(struct policy *p, bool at_once) {
    if (at_once)
        p->kept_turn = true;
    else if (p->goes_on > 0)
        p->goes_on--;
}

/* ---- a write, the end of a unit, the input that answers it ----------------
 *
 * Inline functions for the road of a write (write.c): a call costs 20 to 40 instructions more.  The other
 * paths call policy_write().
 */

enum {
    SURELY_SMALL = 536,   /* no TCP path has a smaller MSS (RFC 9293, 3.7.1) */
    SURELY_LARGE = 65536, /* loopback's MSS is 65 483 */
    MSS_GROWS = 16384,    /* only loopback has such an MSS: at first half of the peer's window */
    PENDING_READ = 4096,  /* a full read of at least this size probably left input */
    ANSWERED = 65536,     /* after the answer to a message of at most this size the send buffer
                           * counts as empty; if that is wrong, the next write finds no room */
    ONE_WAY = 8,          /* small writes without any input ever: a stream */
    CROSSINGS_FIRST = 8,
    CROSSINGS_ONE_IN = 16,
};

static inline void count16(uint16_t *n) {
    *n = (uint16_t)(*n + (*n != UINT16_MAX));
}

static inline void add32(uint32_t *to, size_t bytes) {
    *to = bytes > UINT32_MAX - *to ? UINT32_MAX : *to + (uint32_t)bytes;
}

/* Nagle would delay a small unit: it is on as far as we know, or another process may
 * have switched it on again. */
static inline bool nagle_in_force(const struct policy *p) {
    return !p->nodelay || p->nodelay_uncertain;
}

/* True if a unit of `bytes` ends in a small segment.  Most units are smaller than a
 * segment: the comparison saves them a division (10 to 25 cycles). */
static inline bool has_small_tail(size_t bytes, size_t mss) {
    return bytes < mss ? bytes != 0 : bytes % mss != 0;
}

/* True if a write of `bytes` has the size for a hold: at most `small` bytes, and at least one. */
static inline bool has_size_to_hold(const struct policy_limits *limits, size_t bytes) {
    return bytes - 1 < limits->small;
}

/* coalesce: true if the buffer has room for `bytes` more, and the kernel will have room for all of it. */
static inline bool has_room(const struct policy *p, const struct policy_limits *limits, size_t bytes) {
    return bytes <= limits->room && !p->sndbuf_maybe_full && p->message_bytes + bytes <= p->buffer_limit;
}

/* True if a write of `bytes` counts as a small write of its message: for the counts only.  What stalls, the
 * MSS judges (unit_ends, has_small_tail).  While that is not known, and always in off, a write of at most
 * UNSTALL_SMALL bytes, which `small` of the limits is, counts. */
static inline bool is_small_write(const struct policy *p, uint32_t small, size_t bytes) {
    return bytes < (p->mss ? p->mss : small + 1);
}

/* True if a hold of this write is allowed.  Whether it pays, and whether there is room, policy_holds()
 * decides.  Changes nothing. */
INLINE bool policy_may_hold_write(const struct policy *p, const struct policy_limits *limits,
                                  const struct policy_write *w) {
    return policy_might_hold(p) && !w->special && !w->more && has_size_to_hold(limits, w->bytes) &&
           policy_may_hold(p, limits);
}

/* True if this write should be held or buffered.  Changes nothing.  Whether anybody could end the hold was
 * asked before, and stands in `limits` (window_decide). */
INLINE bool policy_holds(const struct policy *p, const struct policy_limits *limits,
                         const struct policy_write *w) {
    if (!policy_may_hold_write(p, limits, w))
        return false;
    if (p->mode == MODE_CORK)
        return true;
    if (p->mode == MODE_COALESCE)
        return !limits->windowless && (p->never_buffer || has_room(p, limits, w->bytes));
    return (p->input_ever || (p->from_cache && !p->one_way)) && !p->input_pending &&
           (!limits->windowless || p->quick_turns >= HABIT) &&
           policy_predict_turn(&p->model, p->position) == TURN_MORE;
}

/* The second small write of a turn makes the connection bursty.  The model is cleared: the
 * turns before it were cut at every wait and do not predict later ones. */
static inline void becomes_bursty(struct policy *p) {
    if (p->bursty)
        return;
    p->bursty = true;
    p->quick_turns = 0;
    p->model = (struct turn_model){0};
}

/* Counts the units for which it matters that the MSS may have grown: they are taken for large ones and may
 * not be.  True if it is to be asked again: at the units 2, 4, 8 … 128 of every 256.  The first one is that
 * for which it was asked just now. */
static inline bool mss_is_old(struct policy *p, size_t bytes) {
    if (LIKELY(p->mss < MSS_GROWS || (bytes < p->mss && p->first_unit < p->mss)) || bytes >= SURELY_LARGE ||
        !nagle_in_force(p))
        return false;
    uint8_t count = ++p->large_units;
    return count > 1 && (count & (count - 1)) == 0;
}

/* ---- messages that cross ------------------------------------------------
 *
 * A message begins with a small unit while bytes of the message before are unacknowledged, so that Nagle
 * holds it: the input in between was under way already (the peer has two requests under way), or answered
 * something else (a message of two units, the last of which has no answer of its own).  Only the kernel
 * knows, and programs that never have this must not pay for the question.  So a sign comes first: several
 * units, or input that was there at once: for a read after one that got all that it asked for, or, of some
 * reads, as a clock costs, when the turn had ended.  Most programs that show it never have a crossing: the
 * first eight signs count, then one in sixteen; all once a crossing has stalled. */

static inline bool policy_takes_sign(const struct policy *p) {
    return p->crosses || p->crossings < CROSSINGS_FIRST || p->crossings % CROSSINGS_ONE_IN == 0;
}

/* After read number `reads`: from when on is the next input timed, to tell whether it was there already? */
enum times_read { TIMES_NONE, TIMES_READ, TIMES_TURN_END };

INLINE enum times_read policy_times_read(const struct policy *p, uint32_t reads) {
    enum { SOME_READS = 0x3f8 }; /* the first eight of each 1024 */
    if (LIKELY(!p->read_full && (reads & SOME_READS) != 0) || p->crosses || p->mode == MODE_OFF ||
        !nagle_in_force(p))
        return TIMES_NONE;
    return !p->read_full ? TIMES_TURN_END : policy_takes_sign(p) ? TIMES_READ : TIMES_NONE;
}

/* After a read of input that ends a message.  One without a sign counts only where none was looked for: else
 * a program whose requests come one by one at first would have used up the looks. */
static inline void policy_crossing_signs(struct policy *p, bool at_once) {
    bool taken = policy_takes_sign(p), sign = p->units > 1 || at_once;
    p->may_cross = p->crosses || (sign && taken);
    if (sign || !taken)
        p->crossings =
            (uint8_t)(p->crossings == UINT8_MAX ? UINT8_MAX + 1 - CROSSINGS_ONE_IN : p->crossings + 1);
}

/* Such a message begins with a unit of `bytes`.  True: ask the kernel. */
static inline bool policy_asks_crossing(const struct policy *p, const struct policy_limits *limits,
                                        size_t bytes) {
    return p->mode != MODE_OFF && bytes < SURELY_LARGE && !policy_app_decides(p, limits->override) &&
           (nagle_in_force(p) || p->crosses);
}

/* Count a unit of `bytes` that leaves now and fill `action`, which must be zero.
 * Nagle delays a small unit while a small segment is in flight (Minshall's test in the
 * kernel's tcp_output.c); the tail of a large unit is a small segment too. */
INLINE void unit_ends(struct policy *p, const struct policy_limits *limits, size_t bytes,
                      struct policy_action *action) {
    size_t mss = p->mss ? p->mss : SURELY_SMALL;
    if (p->units == 0) {
        p->first_unit = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
        if (UNLIKELY(p->may_cross))
            action->crossing = policy_asks_crossing(p, limits, bytes);
    } else {
        bool surely_small = bytes < SURELY_SMALL && p->first_unit < SURELY_SMALL;
        if (UNLIKELY(mss_is_old(p, bytes)))
            p->mss = 0;
        if (UNLIKELY(bytes < SURELY_LARGE && p->mode != MODE_OFF &&
                     (p->unsure || (p->mss == 0 && !surely_small)))) {
            action->need_facts = true;
            return;
        }
        if (p->units == 1 && has_small_tail(p->first_unit, mss))
            p->smalls = 1; /* the first unit counts late: only now may the MSS be known */
        action->small_unit = has_small_tail(bytes, mss);
        p->smalls = (uint16_t)(p->smalls + (action->small_unit && p->smalls != UINT16_MAX));
    }
    action->ends_unit = true;
    count16(&p->units);
    bool small = bytes < mss;
    if (UNLIKELY(!p->input_ever && small && p->unanswered < UINT16_MAX)) {
        action->unanswered = true;
        p->unanswered++;
    }
    if (!small || p->smalls < 2)
        return;
    if (policy_app_decides(p, limits->override)) {
        action->late_push = UNLIKELY(p->nodelay_uncertain) && mode_cures((enum mode)p->mode) && !p->app_cork;
        return; /* the end of a child's program may have cleared the application's TCP_NODELAY=1 */
    }
    if (!mode_cures((enum mode)p->mode)) {
        action->suspected = nagle_in_force(p);
    } else if (p->unanswered >= ONE_WAY && !p->input_ever && p->mode == MODE_AUTO) {
        action->back_to_app = !p->one_way && p->nodelay && !p->app_nodelay;
        p->one_way = true;
    } else {
        action->late_push = nagle_in_force(p);
        if (p->position >= 2)
            becomes_bursty(p);
    }
}

/* As policy_write(), for at least one byte.  `action` must be zero. */
INLINE void policy_decide(struct policy *p, const struct policy_limits *limits,
                          const struct policy_write *w, struct policy_action *action) {
    if (policy_holds(p, limits, w)) {
        action->how = policy_buffers(p) ? WRITE_COALESCE : WRITE_MORE;
        if (action->how == WRITE_MORE)
            add32(&p->pending, w->bytes);
    } else if (UNLIKELY(p->app_cork && p->unsure && p->pending && p->mode != MODE_OFF)) {
        action->need_facts = true; /* the listener's cork may have been set after the handshake */
    } else if (UNLIKELY(w->more || p->app_cork)) {
        p->app_more = p->app_more || w->more;
        add32(&p->pending, w->bytes);
    } else if (UNLIKELY(p->app_more) && p->mss == 0 && p->pending > 2 * SURELY_SMALL && p->mode != MODE_OFF) {
        action->need_facts = true;
    } else {
        if (UNLIKELY(p->app_more) && p->mss && p->pending > 2 * p->mss && has_small_tail(p->pending, p->mss))
            policy_pushed(p); /* the acknowledgement of the full segments has released their tail */
        unit_ends(p, limits, w->bytes + p->pending, action);
        if (LIKELY(!action->need_facts)) {
            p->app_more = false;
            p->pending = 0;
        }
    }
    if (UNLIKELY(action->need_facts))
        return;
    action->small_write = is_small_write(p, limits->small, w->bytes);
    if (action->small_write)
        count16(&p->small_writes);
    action->burst = action->small_write && p->small_writes == 2;
    action->new_message = p->message_bytes == 0;
    add32(&p->message_bytes, w->bytes);
    if (UNLIKELY(p->buffer_limit && p->message_bytes > p->buffer_limit && !p->sndbuf_maybe_full))
        p->sndbuf_maybe_full = p->large = true;
}

/* A read returned `bytes` of `asked` bytes; `at_once`: they were there already (policy_times_read). */
INLINE void policy_input(struct policy *p, size_t bytes, size_t asked, bool at_once) {
    if (LIKELY(p->turns == 1 && !p->kept_turn))
        p->goes_on = 0;
    p->kept_turn = false;
    if (p->message_bytes) { /* else more of the same input */
        p->may_cross = false;
        if (at_once || p->read_full || p->crosses || p->units > 1)
            policy_crossing_signs(p, at_once);
    }
    /* by masks: of single bits the compiler would make 25 instructions more */
    uint32_t facts = p->facts | POLICY_FACTS(.input_ever = true, .established = true);
    facts &= ~POLICY_FACTS(.read_full = true, .input_pending = true, .one_way = true);
    if (UNLIKELY(p->refuses))
        facts &= ~POLICY_FACTS(.established = true);
    if (bytes == asked)
        facts |= POLICY_FACTS(.read_full = true);
    if (UNLIKELY(bytes == asked && asked >= PENDING_READ))
        facts |= POLICY_FACTS(.input_pending = true);
    STORE(&p->facts, facts); /* `mode` is read without the lock */
    if (UNLIKELY(p->large)) {
        if (p->message_bytes <= ANSWERED) /* a peer usually reads a message before it answers */
            p->sndbuf_maybe_full = false;
        p->large = false;
    }
    /* input that comes within a turn may be older than what the turn has sent, and acknowledge none of it */
    if (LIKELY(p->position == 0 || p->mode != MODE_COALESCE))
        p->units = 0, p->smalls = 0;
    p->turns = 0;
    p->small_writes = 0;
    p->message_bytes = 0;
    p->pending = 0;
}

/* Mode off: input has ended the message.  Without the lock. */
INLINE void policy_forget_message(struct policy *p) {
    STORE(&p->message_bytes, 0);
    STORE(&p->small_writes, 0);
}

/* ---- the end of a turn -------------------------------------------------- */

/* A turn ended at a wait, not by the window: update the model. */
static inline void policy_turn_ends(struct policy *p) {
    if (p->position == 0)
        return;
    if (p->position >= 2 && p->nodelay && !p->app_nodelay)
        becomes_bursty(p);
    if (p->bursty) /* becomes_bursty() clears anything that was learned before */
        policy_learn_turn(&p->model, p->position);
    if (UNLIKELY(p->window_ends))
        policy_window_turn_ends(p);
    if (p->mode == MODE_COALESCE)
        p->single_turns = (uint8_t)(p->position > 1 ? 0 : p->single_turns + (p->single_turns < HABIT));
    p->position = 0;
}

/* Decides about a write whose turn has buffered bytes.  True: counts the write; the caller buffers it too.
 * False: counts nothing.  limits->room is not 0 only in coalesce and where holds are allowed.  No other
 * fact needs a test: any event that forbids holds (an option, untracked I/O, another mode) has already
 * sent the buffered bytes. */
static inline bool policy_buffers_on(struct policy *p, const struct policy_limits *limits, size_t bytes) {
    if (!has_size_to_hold(limits, bytes) || !has_room(p, limits, bytes) || !p->established ||
        p->message_bytes == 0)
        return false;
    p->message_bytes += (uint32_t)bytes;
    if (is_small_write(p, limits->small, bytes))
        count16(&p->small_writes);
    count16(&p->position);
    return true;
}

#endif
