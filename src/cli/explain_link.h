/* SPDX-License-Identifier: MIT
 *
 * Processes, descriptors and connections of a log of strace, in constant memory.
 *
 * Threads of one process share descriptors, a forked child has copies, and several descriptors
 * may lead to one connection ("link").  A descriptor that was there before the log began becomes known by its
 * first use; -y and -yy say at once what it is.
 */
#ifndef UNSTALL_CLI_EXPLAIN_LINK_H
#define UNSTALL_CLI_EXPLAIN_LINK_H

#include "explain.h"
#include "explain_habit.h"
#include "explain_line.h"
#include "explain_table.h"

enum link_kind { LINK_UNKNOWN, LINK_SOCKET, LINK_TCP, LINK_OTHER };

/* One write that ended a segment. */
struct piece {
    uint64_t line;
    int64_t at_ns;
    uint32_t bytes;
    int pid;
    int64_t waited_ns; /* by that thread until then */
};

struct link {
    struct node node;
    uint32_t references;
    uint8_t kind;
    bool born;     /* its making is in the log */
    bool accepted; /* by a server */
    bool nodelay, corked;
    bool spoken; /* has had a message */
    bool counted;
    char local[ENDPOINT_TEXT], peer[ENDPOINT_TEXT];
    int descriptor; /* the newest number, for the report */
    uint64_t habit; /* key, 0: not counted there yet */
    /* The message: */
    uint32_t units; /* pieces so far */
    bool open_unit; /* under MSG_MORE or TCP_CORK */
    bool pushed;    /* TCP_NODELAY was on at the second piece or later */
    uint64_t rest_bytes;
    struct piece first, second, last;
};

struct descriptor {
    struct node node; /* process << 32 | number */
    uint64_t link;
};

enum { ARGS_KEPT = 480 };

struct thread {
    struct node node; /* pid */
    int process;
    char command[NAME_TEXT]; /* as one would type it; empty where strace has cut a word */
    char program[32];        /* its name alone */
    /* A call whose end has not come yet: */
    bool unfinished;
    char name[CALL_NAME], args[ARGS_KEPT];
    int64_t began_ns;
    uint64_t line;
    /* A wait or a read whose end is the thread's next line: */
    bool open, open_is_input;
    uint64_t open_link, open_line;
    int64_t open_ns;
    int64_t waited_ns;          /* in all */
    int64_t wait_from, wait_to; /* the newest that lasted */
};

/* How a program talks to a service, found by both. */
struct habit_item {
    struct node node;
    struct habit habit;
};

struct links {
    struct table threads, descriptors, links, habits;
    uint64_t serial;
    struct findings *out;
};

bool links_make(struct links *l, struct findings *out);
void links_free(struct links *l);

struct thread *links_thread(struct links *l, int pid);

/* The connection behind the descriptor that a call's arguments begin with: known, or made now.  NULL: there
 * is no number. */
struct link *links_of_args(struct links *l, const struct thread *t, const char *args);

struct link *links_get(struct links *l, uint64_t key);

/* A new connection behind a number; what was there before is forgotten. */
struct link *links_birth(struct links *l, const struct thread *t, int number, enum link_kind kind);
void links_alias(struct links *l, const struct thread *t, int number, const struct link *to);
void links_close(struct links *l, const struct thread *t, int number);

/* A child: a thread with the same descriptors, or a process with copies. */
void links_child(struct links *l, const struct thread *parent, int pid, bool shares);

/* "sin_port=htons(80), sin_addr=inet_addr("…")" and IPv6's form; empty where there is none. */
void links_address(const char *args, char text[ENDPOINT_TEXT]);

#endif
