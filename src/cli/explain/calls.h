/* SPDX-License-Identifier: MIT
 *
 * The system calls of a log of strace, applied to its connections and messages.
 */
#ifndef UNSTALL_CLI_CALLS_H
#define UNSTALL_CLI_CALLS_H

#include "message.h"

struct strace_log {
    struct connections connections;
    struct findings *out;
    enum line_time time; /* of the first line that has a time */
    int64_t now_ns;      /* time of the present line, without jumps at midnight */
    int64_t raw_ns;      /* the same as the line states it */
    uint64_t lines_timed;
    bool tcpdump; /* has lines that tcpdump prints */
    uint64_t written; /* the connection that the newest line wrote to; 0: it is no write */
    uint64_t written_line;
    bool exact;   /* the durations of some calls are known (-T) */
};

/* One call.  end_ns < 0: its end is not known. */
struct call {
    const char *name, *args;
    long value;
    bool failed;
    int64_t begin_ns, end_ns;
    uint64_t line;
};

void calls_apply(struct strace_log *g, struct thread *t, const struct call *c);

/* Ends the pending wait or read of this thread.  Its end is not known; the thread's next line is the latest
 * time at which it can have ended. */
void calls_end_pending(struct strace_log *g, struct thread *t);

#endif
