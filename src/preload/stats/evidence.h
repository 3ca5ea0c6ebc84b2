/* SPDX-License-Identifier: MIT
 *
 * The part of a connection that exists only if statistics or observe are on: times, its row and record in the
 * statistics file, and the evidence of stalls.
 *
 * Ownership: one struct a connection, from a pool of mapped chunks that are never unmapped, so that a
 * connection itself stays at 256 bytes.  It is made when the connection connects or is accepted, and freed
 * when the connection is reset.  It belongs to the holder of the connection's lock.
 *
 * Fork: the child keeps its copy; conn_repaired() clears what is about the statistics file, because the child
 * has another one.
 */
#ifndef UNSTALL_EVIDENCE_H
#define UNSTALL_EVIDENCE_H

#include "config.h"
#include "conn.h"

enum { NO_ARM = 0xff };

/* What is counted in the connection and then moved to its row: the first counters of the file. */
enum { COUNTED = COUNT_SMALL_WRITES + 1 };

/* A write behind which another one may be held. */
struct stacks_piece {
    uintptr_t caller;          /* return address of its call; 0: not known */
    struct first_write *stack; /* NULL: not kept */
};

struct evidence {
    uint64_t opened;     /* connect, accept or first sight; all times are ns of CLOCK_MONOTONIC */
    uint64_t before_us;  /* bytes sent before an inherited connection was first seen */
    uint32_t experiment; /* config.experiment when the arm was chosen; 0: it is not chosen yet */
    uint32_t number;     /* ... and the connection's number then; 0: there was no experiment */
    uint8_t arm;         /* NO_ARM: takes no part */
    uint8_t role;        /* enum stats_role; a forked child keeps its parent's */
    bool ends_known;
    struct stats_address peer, local; /* if ends_known */
    uint32_t alone_since;             /* the nodelay_epoch; if it has grown, the socket may be shared */
    struct kernel_tcp_info first_look; /* at TCP_INFO, after the suspect write */
    uint64_t wrote_at;                 /* the last write, in observe */
    struct proof_times times;
    uint64_t bytes_at_look;
    bool looked;       /* TCP_INFO was asked in this message */
    bool cured;        /* this message was counted as cured */
    bool behind;       /* the suspected bytes are held behind a message before */
    bool stalled;      /* this message has stalled by itself: its burst is no sign of a crossing */
    uint8_t suspicion; /* suspicious writes in this message */
    uint8_t look_at;   /* number of suspicious writes before the look */
    uint8_t look_next; /* ... in the next message */
    struct stacks_piece first, last; /* the first write of this message, and the last one of the connection */
    struct quickack quickack;
    /* ---- from here on a forked child begins anew: its statistics file is another ---- */
    uint64_t message_began; /* just before the first write of the open message; 0: none is open */
    uint64_t input_at;      /* the input that ended the last message, until a write; 0: none */
    uint64_t early;         /* message_began of a message whose answer came before its count */
    uint64_t early_input;   /* ... and the time of that input */
    bool wrote;             /* the application has written */
    bool suspect;           /* the first look found held bytes; the second is still to come */
    bool placed;            /* `row` and `record` are chosen */
    uint8_t since_moved;    /* writes since the counts were last moved to the file */
    uint32_t row;           /* in the statistics file */
    struct stats_connection *record; /* there, or NULL */
    struct stats_pattern *pattern;   /* there, of this message, or NULL */
    uint64_t found[COUNTED - COUNT_SUSPECTS]; /* since the connection began: evidence_add() */
    uint64_t told[COUNTED];                   /* the part of its counts already in the file */
};

/* Adds to a count of e, one of those from COUNT_SUSPECTS on; returns the sum. */
static inline uint64_t evidence_add(struct evidence *e, enum stats_counter what, uint64_t n) {
    return e->found[what - COUNT_SUSPECTS] += n;
}

/* What c has counted, with its evidence or without; the other counts are left as they are. */
void evidence_counts(const struct conn *c, uint64_t counts[COUNTED]);

/* True if this configuration needs evidence. */
static inline bool evidence_wanted(const struct config *c) {
    return c->stats != NULL || c->arms.count > 0 || c->mode == MODE_OBSERVE ||
           c->quickack != QUICKACK_OFF;
}

/* c is connected or accepted, or is about to be: give it its evidence, if the configuration needs it.  Lock
 * held.  False: c has none (not needed, or no memory). */
bool evidence_begin(struct conn *c);

/* Back to the pool.  Lock held. */
void evidence_free(struct conn *c);

/* ---- events (evidence.c); lock held for all of them.  Without evidence nothing is done. ---- */

/* A write of c, by any call. */
struct evidence_write {
    int fd;
    uint64_t bytes;
    uintptr_t caller; /* return address of the exported call; 0: not known */
    bool left;        /* the kernel has taken it already */
};

/* Before a write is made. */
void evidence_writes(struct conn *c);
/* Policy has decided about a write.  A mode that cures calls this before the write, the
 * other modes after it. */
void evidence_wrote(struct conn *c, const struct policy_action *action, const struct evidence_write *w);
/* The application has cleared TCP_CORK, and policy has decided about the bytes that it held. */
void evidence_uncorked(struct conn *c, const struct policy_action *action);
/* A mode that cures has seen a write held for `ns` behind a message before (turn.h). */
void evidence_crossing(struct conn *c, uint64_t ns);
/* Input has arrived: it is `now`, by clock_now().  Called before policy_input() and tally_input(), and only
 * if c->evidence is set. */
void evidence_input(struct conn *c, uint64_t now);
/* The connection ends: the peer has closed (a read returned 0), or the application is
 * about to close `fd`, the last descriptor. */
void evidence_ends(struct conn *c, int fd);

/* ---- what the statistics file is told (tally.c) ---------------------------
 *
 * Writes the events of a connection to the statistics file: the begin of a message,
 * the input that answers it, the end.  Called only if c->evidence is set, so that
 * without statistics each call costs one branch; evidence_begin() and tally_first_sight() make it.
 *
 * The counters stay in the connection (conn_counts, under its lock).  Their growth is
 * added to the connection's row at each input that ends a message, after MOVE_AFTER
 * reads or writes without one, and at the end.
 *
 * Lock held, for all of these, unless said otherwise.
 */
/* True if statistics have work that needs no lock held (shim.h). */
bool tally_pending(void);

/* A connection whose creation we did not see; ignored unless it is connected. */
void tally_first_sight(struct conn *c);

/* Before a write, which may be the first of a message. */
void tally_write_begins(struct conn *c);
/* The write is counted; or it failed (`action`: it was counted before). */
void tally_written(struct conn *c, const struct policy_action *action);
void tally_unsent(struct conn *c, const struct policy_action *action);

/* Input has arrived.  Called before policy_input(). */
void tally_input(struct conn *c, uint64_t now);

/* Move the counts to the statistics file. */
void tally_moves(struct conn *c);

/* The connection ends; `now` is its TCP_INFO, or NULL. */
void tally_ends(struct conn *c, const struct kernel_tcp_info *now);

/* The mode of c in this configuration.  False: it takes part in an experiment, but its arm
 * depends on an address that is not known before it is connected. */
bool tally_mode(struct conn *c, const struct config *now, enum mode *mode);

/* ---- the call stacks of stalls (stacks.c) --------------------------------- */

/* The first write of a message, or a later one behind which the next message may be held. */
struct stacks_piece stacks_keep(const struct evidence *e, const struct evidence_write *w);
/* The small write `w` after `first`, with a suspected or cured stall. */
void stacks_pair(struct evidence *e, const struct stacks_piece *first, const struct evidence_write *w);
/* The message of e has stalled. */
void stacks_stalled(const struct evidence *e, uint64_t ns);

/* In the child of a fork, which has another statistics file. */
void stacks_forked(void);

/* ---- the modules -------------------------------------------------------- */

/* Adds to the statistics file, for an unwinder that runs after the process has ended, the executable mappings
 * that it lacks, with the identity of their files.  The source is /proc/self/maps: dl_iterate_phdr(3) would
 * take a lock.  One thread at a time. */
void modules_note(struct stats_file *s);

/* One line of /proc/PID/maps. */
struct modules_line {
    uint64_t start, end, offset;
    bool executable;
    const char *path; /* to the end of the line; "" for none */
    size_t path_bytes;
};

bool modules_parse(const char *line, size_t bytes, struct modules_line *out);

/* ---- the report (report.c) -------------------------------------------------
 *
 * A connection's own counters are added to the process's totals when it ends, so that the write path shares
 * no counter between connections.  The report adds the connections still open.
 */
/* The last descriptor of c is about to be closed.  Lock held. */
void stats_connection_ends(struct conn *c, int fd);

/* Write the report to the target of UNSTALL_REPORT, if it is set, and move the remaining counts to the
 * statistics file.  `replaced`: exec replaces this program, and its connections go on. */
void stats_process_ends(bool replaced);

/* In the child of a fork: its own totals start at zero. */
void stats_forked(void);

/* ---- log lines ----------------------------------------------------------
 *
 * UNSTALL_VERBOSE 1: a line at the start, and one for the first late push of each connection; 2: one for
 * each.  None is written under a connection's lock: a full pipe may block.
 */

static inline bool verbose(unsigned level) {
    return UNLIKELY(config()->verbose >= level);
}

void verbose_start(void);
/* TCP_NODELAY was set before a write of `bytes`; `first` on this connection. */
void verbose_late_push(int fd, size_t bytes, bool first);

#endif
