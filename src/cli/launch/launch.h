/* SPDX-License-Identifier: MIT
 *
 * Starting a program with the library before it: `run`, `observe` and `ab`.
 *
 *     struct launch l = {0};
 *     while ((kind = args_next(&a)) == ARGS_OPTION)
 *         if (!launch_option(&l, &a))
 *             return args_unknown(&a);
 *     if (kind == ARGS_WORD)
 *         l.argv = args_rest(&a);
 *     int refused = launch_prepare(&l);
 *     return refused ? refused : launch_exec(&l);
 */
#ifndef UNSTALL_CLI_LAUNCH_H
#define UNSTALL_CLI_LAUNCH_H
#include <signal.h>
#include <sys/types.h>

#include "args.h"
#include "program.h"

enum launch_how {
    HOW_PRELOAD_ONLY, /* the verbs that need the library */
    HOW_CHOSEN,       /* the preload, or another way if a preload cannot work */
    HOW_PRELOAD,
    HOW_SECCOMP,
};

struct launch {
    char **argv;         /* the program and its arguments, then NULL */
    const char *library; /* --library; NULL: the installed one */
    bool force;          /* --force: start it also if a preload seems not to work */
    bool settings;       /* read unstall.conf(5) */
    bool to_stderr;      /* launch_spawn() gives it our stderr as its stdout */
    const char *stats;   /* --stats: the folder, which is checked; NULL: none is given */
    const char *conf;    /* --conf: this file instead of those in /etc */
    enum launch_how how;
    sigset_t mask; /* set by launch_hold_signals(): the program's own, as the caller's was */
    /* set by launch_prepare() */
    struct program program;
    bool supervised;    /* launch_exec() puts it under the supervisor */
    bool gains_rights;  /* by its file: setuid, setgid, capabilities */
    bool no_preload;    /* the library would end it */
    char obstacle[400]; /* why it is supervised; "" if the user has asked for it */
};

/* Takes the present option if it is one of LAUNCH_HELP, which all launching verbs share; false if it is
 * not.  A bad value ends the command with EXIT_OWN and a complaint. */
bool launch_option(struct launch *l, struct args *a);

/* The same of those alone that set a variable of the library: "--mode cork" is UNSTALL_MODE=cork.  A relative
 * path becomes an absolute one. */
bool option_setting(struct args *a, const char **variable, const char **value);

/* The lines of --help about these options. */
#define LAUNCH_HELP                                                                    \
    "  --mode MODE       off, observe, nodelay, cork, coalesce or auto\n"              \
    "  --window US       the longest time that anything is held, in microseconds\n"    \
    "  --small BYTES     the most that is held\n"                                      \
    "  --thread WHEN     own, always or never: when a thread of the library keeps\n"   \
    "                    the window; own: in programs with threads, and in coalesce\n" \
    "  --nodelay WHEN    late or always\n"                                             \
    "  --quickack WHEN   off, auto or always: cure the peer's stalls from here\n"      \
    "  --override        treat the program's own TCP_NODELAY as unset\n"               \
    "  --ports LIST      only connections to these ports, as in 80,8000-8999,!8443\n"  \
    "  --peers LIST      only connections with these peers, as in 10.0.0.0/8,::1\n"    \
    "  --programs LIST   only in programs of these names, as in python3,!java\n"       \
    "  --no-children     not in the programs that it starts\n"                         \
    "  --stats DIR       a live statistics file for each process in DIR\n"             \
    "  --no-stacks       without stacks of the calls in the statistics file\n"         \
    "  --report WHERE    a report at the end: stderr or a file (%p: the process id)\n" \
    "  --log WHERE       where warnings go: stderr or a file\n"                        \
    "  --verbose LEVEL   0, 1 or 2: what is said beyond warnings\n"                    \
    "  --library FILE    this libunstall.so instead of the installed one\n"            \
    "  --force           also where a preload seems not to work\n"

/* Sets a variable for the program, as an option would: "UNSTALL_STATS". */
void launch_set(const char *name, const char *value);

/* Finds the program and the library, checks that a preload (or the chosen way) can work, and appends the
 * library to LD_PRELOAD.  0, or the exit code and a complaint. */
int launch_prepare(struct launch *l);

/* Becomes the program.  Returns only if that fails: the exit code, after a complaint. */
int launch_exec(struct launch *l);

/* From here to the start of the child, a signal that would end this process alone waits. */
void launch_hold_signals(struct launch *l);

/* Starts it as a child, after launch_hold_signals(): its id, or minus the exit code and a complaint, with the
 * signals still held.  While the child runs, this process ignores SIGINT and SIGQUIT, which the terminal
 * sends to both, and passes SIGTERM and SIGHUP on. */
pid_t launch_spawn(struct launch *l);

/* Ends the child by SIGTERM after so many seconds; 0: never. */
void launch_limit(double seconds);

/* Waits for the child: its exit code, or 128 plus the signal that has ended it.  An end by the SIGTERM of
 * launch_limit() is planned: 0. */
int launch_wait(pid_t child);

/* True if launch_limit() has sent it. */
bool launch_was_limited(void);

#endif
