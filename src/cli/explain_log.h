/* SPDX-License-Identifier: MIT
 *
 * What reading the lines of a log of strace and acting on its calls share.
 */
#ifndef UNSTALL_CLI_EXPLAIN_LOG_H
#define UNSTALL_CLI_EXPLAIN_LOG_H

#include "explain_message.h"

struct log {
    struct links links;
    struct findings *out;
    enum line_time time;    /* of its first line that has one */
    int64_t now_ns, raw_ns; /* since what the log counts from; as the last line had it */
    uint64_t lines_timed;
    bool tcpdump; /* has lines that tcpdump prints */
    bool exact;   /* some calls tell how long they took */
};

/* One call with its end, or without (end_ns < 0). */
struct call {
    const char *name, *args;
    long value;
    bool failed;
    int64_t begin_ns, end_ns;
    uint64_t line;
};

void log_act(struct log *g, struct thread *t, const struct call *c);

/* A wait or a read of this thread whose end was not told ends where its next line begins, at the latest. */
void log_close_open(struct log *g, struct thread *t);

#endif
