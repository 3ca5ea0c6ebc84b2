/* SPDX-License-Identifier: MIT
 *
 * One line of a log of strace, parsed.  Pure.
 *
 * Forms: with "[pid N]", "N" (-o) or "N<name>" (-Y) in front, or without; times of -tt, -ttt and -r, with
 * microseconds or nanoseconds; -n and -i; -T at the end; descriptors with -y or -yy.
 */
#ifndef UNSTALL_CLI_STRACE_LINE_H
#define UNSTALL_CLI_STRACE_LINE_H

#include <stdbool.h>
#include <stdint.h>

enum line_kind {
    LINE_OTHER,      /* a signal, a stack, a message of strace, or no line of strace at all */
    LINE_CALL,       /* complete */
    LINE_UNFINISHED, /* a later line is LINE_RESUMED */
    LINE_RESUMED,
    LINE_EXITED, /* the thread has ended */
};

enum line_time { TIME_NONE, TIME_OF_DAY, TIME_COARSE, TIME_EPOCH, TIME_RELATIVE };

enum { CALL_NAME = 24 };

struct line {
    enum line_kind kind;
    enum line_time time;
    int pid; /* 0: none */
    int64_t at_ns;
    int64_t took_ns; /* of -T; -1: none */
    char name[CALL_NAME];
    const char *args, *args_end; /* after "(" or "resumed>", up to the result */
    const char *result;          /* after " = "; NULL: none */
    bool failed;
    long value; /* of the result; 0: none */
};

/* text ends with a NUL and has no newline; the pointers of `out` point into it. */
void line_read(const char *text, struct line *out);

/* "3<TCP:[…]>" at p: the number, or -1.  *decoration to *decoration_end is the text between the angle
 * brackets; NULL if there are none. */
int line_descriptor(const char *p, const char **decoration, const char **decoration_end);

#endif
