/* SPDX-License-Identifier: MIT
 *
 * The tools of runtimes: the programs that each can look at, its command line, and its answer.
 */
#ifndef UNSTALL_CLI_WHO_TOOL_H
#define UNSTALL_CLI_WHO_TOOL_H

#include "who.h"

struct who_tool {
    const char *const *programs; /* beginnings of their names, then NULL */
    const char *name;            /* of the tool; NULL: no tool is asked */
    const char *const *arguments; /* "PID" stands for the number of the process; then NULL */
    const char *advice;          /* what to do without the tool */
    /* Takes a line of the answer into `t`.  `*ours` is true while the lines are about this thread. */
    void (*line)(struct trace *t, bool *ours, const char *line, pid_t thread);
};

/* The tool for the program that a process runs now, or NULL. */
const struct who_tool *who_tool_of(pid_t pid);

/* The same by the last part of the program's path: "python3.11". */
const struct who_tool *who_tool_for(const char *program);

/* The frames of a thread in the whole answer of a tool, WHO_FRAMES at most.  Pure. */
void who_tool_parse(const struct who_tool *tool, char *answer, pid_t thread, struct trace *t);

#endif
