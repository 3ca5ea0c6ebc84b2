/* SPDX-License-Identifier: MIT
 *
 * From waits seen in a log of strace to what is likely.  Pure.
 *
 * A log shows how long a program waited, never why: a peer that thinks for 44 ms looks like a delayed
 * acknowledgement.  What tells them apart is the company that a wait keeps.  A delayed
 * acknowledgement comes by a timer of the peer's kernel, so the waits cluster; and it strikes only messages
 * of two or more small writes, never those of one, and hardly the first of a connection (Linux
 * acknowledges the first segments at once).
 */
#ifndef UNSTALL_CLI_EXPLAIN_HABIT_H
#define UNSTALL_CLI_EXPLAIN_HABIT_H

#include "explain.h"

/* The timers that are in use: Linux and Windows today; old BSD and macOS; old Windows and Solaris. */
enum { TIMERS = 3 };

enum message_kind {
    MESSAGE_PIECES, /* two or more small writes that Nagle's algorithm could hold */
    MESSAGE_FIRST,  /* the same, but the first of its connection */
    MESSAGE_WHOLE,  /* one write, or large, or under TCP_NODELAY, TCP_CORK, MSG_MORE */
    MESSAGE_KINDS,
};

/* How one program talks to one service. */
struct habit {
    char program[NAME_TEXT]; /* its name, or "process 12" */
    char command[NAME_TEXT]; /* as typed; empty where it is not known whole */
    char service[ENDPOINT_TEXT];
    bool by_server, exact; /* exact: ends of calls are known (-T, or resumed) */
    uint16_t port;
    uint64_t connections;
    struct waits all[MESSAGE_KINDS];
    uint32_t within[MESSAGE_KINDS][TIMERS];
    struct waits timed[TIMERS]; /* of MESSAGE_PIECES */
    struct shown examples[TIMERS][EXAMPLES];
};

void habit_add(struct habit *h, enum message_kind kind, int64_t wait_ns,
               const struct shown *example);

/* Adds a finding, or a note where it cannot be told. */
void habit_judge(const struct habit *h, struct findings *out);

#endif
