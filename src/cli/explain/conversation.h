/* SPDX-License-Identifier: MIT
 *
 * Finds the likely cause of the waits in a log of strace.  Pure.
 *
 * A log shows how long a program waited, never why: a peer that computes for 44 ms looks like a delayed
 * acknowledgement.  Two properties distinguish them.  A delayed acknowledgement comes by a timer of the
 * peer's kernel, so its waits have nearly equal lengths.  And it affects only messages of two or more small
 * writes, but rarely the first one of a connection, because Linux acknowledges the first segments at once.
 */
#ifndef UNSTALL_CLI_CONVERSATION_H
#define UNSTALL_CLI_CONVERSATION_H

#include "findings.h"

/* The timers in use: Linux and Windows today; old BSD and macOS; old Windows and Solaris. */
enum { TIMERS = 3 };

enum message_kind {
    MESSAGE_PIECES, /* two or more small writes, which Nagle's algorithm may hold */
    MESSAGE_BEHIND, /* one small write, soon after a message of several: their last may have no answer */
    MESSAGE_FIRST,  /* the same, but the first of its connection */
    MESSAGE_WHOLE,  /* one write, or large, or under TCP_NODELAY, TCP_CORK or MSG_MORE */
    MESSAGE_KINDS,
    MESSAGE_HOLDABLE = MESSAGE_BEHIND + 1, /* so many kinds may be held */
};

/* The waits of one kind that were as long as a timer. */
struct timed {
    struct waits waits;
    struct timeline when;
    struct finding_example examples[EXAMPLES];
};

/* All messages between one program and one service. */
struct conversation {
    char program[NAME_TEXT]; /* its name, or "process 12" */
    int process;             /* 12; 0: it has a name */
    char command[NAME_TEXT]; /* as typed; empty if a part of it is not known */
    char service[ENDPOINT_TEXT];
    bool by_server;
    bool exact; /* ends of calls are known (-T, or resumed) */
    uint16_t port;
    uint64_t connections;
    struct waits all[MESSAGE_KINDS];
    uint32_t within[MESSAGE_KINDS][TIMERS]; /* of these, waits as long as a timer */
    struct timed timed[MESSAGE_HOLDABLE][TIMERS];
    uint32_t more, more_within; /* waits for more input: the peer may write in pieces; as long as a timer */
    struct unheld unheld;
};

void conversation_add(struct conversation *c, enum message_kind kind, int64_t wait_ns,
                      const struct finding_example *example);

/* A wait for input behind other input. */
void conversation_more(struct conversation *c, int64_t wait_ns);

/* Takes a message that may not have been held: its pieces, and the line of its input. */
void conversation_unheld(struct conversation *c, const struct unheld *m);

/* Adds a finding for each timer that is a likely cause.  If none is, and the waits are long, adds a note. */
void conversation_judge(const struct conversation *c, struct findings *out);

/* After all were judged: gives the reason where each had too few such waits, but all together have some. */
void conversation_judge_all(struct findings *out);

#endif
