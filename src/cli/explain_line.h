/* SPDX-License-Identifier: MIT
 *
 * One line of a log of strace, taken apart.  Pure.
 *
 * Forms: with "[pid N]", with "N" (-o) or "N<name>" (-Y) in front, or without; times of -tt, -ttt and -r,
 * with micro- or nanoseconds; -n and -i; -T behind; descriptors with -y or -yy.
 */
#ifndef UNSTALL_CLI_EXPLAIN_LINE_H
#define UNSTALL_CLI_EXPLAIN_LINE_H

#include <stdbool.h>
#include <stdint.h>

enum line_kind {
    LINE_OTHER,      /* a signal, a stack, strace's own words, or what is no line of strace */
    LINE_CALL,       /* complete */
    LINE_UNFINISHED, /* its end comes in a later line */
    LINE_RESUMED,
    LINE_EXITED, /* the thread has ended */
};

enum line_time { TIME_NONE, TIME_OF_DAY, TIME_COARSE, TIME_EPOCH, TIME_RELATIVE };

enum { CALL_NAME = 24 };

struct line {
    enum line_kind kind;
    enum line_time time;
    int pid; /* 0: not told */
    int64_t at_ns;
    int64_t took_ns; /* -T; -1: not told */
    char name[CALL_NAME];
    const char *args, *args_end; /* behind "(" or "resumed>", up to the result */
    const char *result;          /* behind " = "; NULL: none */
    bool failed;
    long value; /* of the result; 0 where it is none */
};

/* text ends with a NUL and has no newline; the pointers of `out` point into it. */
void line_read(const char *text, struct line *out);

/* "3<TCP:[…]>" at p: the number, or -1; *decoration to *decoration_end is what stands between the angle
 * brackets, NULL without. */
int line_descriptor(const char *p, const char **decoration, const char **decoration_end);

#endif
