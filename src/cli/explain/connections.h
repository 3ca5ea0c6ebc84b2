/* SPDX-License-Identifier: MIT
 *
 * Processes, descriptors and connections of a log of strace, in constant memory.
 *
 * Threads of one process share descriptors, a forked child has copies, and several descriptors may refer to
 * one connection.  A descriptor that was open before the log began becomes known by its first use; -y and
 * -yy tell at once what it is.
 */
#ifndef UNSTALL_CLI_CONNECTIONS_H
#define UNSTALL_CLI_CONNECTIONS_H

#include "conversation.h"
#include "strace_line.h"

enum connection_kind {
    CONNECTION_UNKNOWN,
    CONNECTION_SOCKET, /* of any family */
    CONNECTION_TCP,
    CONNECTION_OTHER, /* no TCP connection: a file, a pipe, a datagram socket */
};

/* One write that ended a segment. */
struct piece {
    uint64_t line;
    int64_t at_ns;
    uint32_t bytes;
    int pid;
    int64_t waited_ns; /* thread.waited_ns at that time */
    char place[PLACE_TEXT];
};

struct connection {
    struct node node;
    uint32_t references; /* descriptors */
    uint8_t kind;        /* enum connection_kind */
    bool creation_seen;  /* the log shows socket() or accept() */
    bool accepted;       /* by a server */
    bool nodelay, corked;
    bool had_message;
    bool counted; /* in findings.connections */
    char local[ENDPOINT_TEXT], peer[ENDPOINT_TEXT];
    int descriptor;        /* the newest number, for the report */
    uint64_t conversation; /* its key; 0: not counted there yet */
    /* The present message: */
    uint32_t units; /* pieces so far */
    bool open_unit; /* MSG_MORE or TCP_CORK keeps the last piece open */
    bool pushed;    /* TCP_NODELAY was on at the second piece or later */
    uint64_t rest_bytes;
    struct piece first, second, last;
    /* The last write of the message before, if that had several, none of them pushed: */
    struct piece before; /* line 0: none */
    struct piece input;  /* the newest input; line 0: none */
};

struct descriptor {
    struct node node; /* process << 32 | number */
    uint64_t connection;
};

enum { ARGS_KEPT = 480 };

struct thread {
    struct node node; /* pid */
    int process;
    bool unborn; /* the log does not show who made it */
    char command[NAME_TEXT]; /* as typed; empty if strace has cut a word */
    char program[32];        /* its name alone */
    /* A call whose LINE_RESUMED has not come yet: */
    bool unfinished;
    char name[CALL_NAME], args[ARGS_KEPT];
    int64_t began_ns;
    uint64_t line;
    /* A wait or a read of unknown length; the thread's next line ends it: */
    bool pending, pending_is_input;
    uint64_t pending_connection, pending_line;
    int64_t pending_ns;
    int64_t waited_ns;          /* in total */
    int64_t wait_from, wait_to; /* the newest wait */
};

struct conversation_item {
    struct node node; /* a hash of program, command, service and side */
    struct conversation conversation;
};

struct connections {
    struct table threads, descriptors, connections, conversations;
    uint64_t serial;
    unsigned unborn; /* threads that have been there before the log; more than one: of unknown processes */
    struct findings *out;
};

bool connections_make(struct connections *l, struct findings *out);
void connections_free(struct connections *l);

struct thread *connections_thread(struct connections *l, int pid);

/* The connection of the descriptor with which a call's arguments begin; made if it is not known yet.  NULL:
 * there is no number. */
struct connection *connections_of_args(struct connections *l, const struct thread *t,
                                       const char *args);

struct connection *connections_get(struct connections *l, uint64_t key);

/* A new connection for a number; the previous one loses this descriptor. */
struct connection *connections_add(struct connections *l, const struct thread *t, int number,
                                   enum connection_kind kind);

/* dup(2): another number for the same connection. */
void connections_alias(struct connections *l, const struct thread *t, int number,
                       const struct connection *to);
void connections_close(struct connections *l, const struct thread *t, int number);

/* A child: a thread with the same descriptors, or a process with copies. */
void connections_child(struct connections *l, const struct thread *parent, int pid, bool shares);

/* "sin_port=htons(80), sin_addr=inet_addr("…")" and the form of IPv6; "" if there is none. */
void connections_address(const char *args, char text[ENDPOINT_TEXT]);

#endif
