/* SPDX-License-Identifier: MIT
 *
 * The system calls of a log of strace that concern connections, in one table.
 */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

/* ---- waits and input -------------------------------------------------- */

static void waited(struct thread *t, int64_t begin, int64_t end) {
    int64_t most = 10000 * MS; /* longer waits are cut, so that no sum overflows */
    if (end > begin)
        t->waited_ns += end - begin < most ? end - begin : most;
    t->wait_from = begin;
    t->wait_to = end;
}

/* The time of the input is the end of a read that waited, and the begin of a read that did not. */
static void input(struct strace_log *g, struct thread *t, uint64_t key, uint64_t line,
                  int64_t begin, int64_t end) {
    struct connection *conn = connections_get(&g->connections, key);
    bool lasted = end - begin >= 1 * MS;
    waited(t, begin, end);
    if (conn)
        message_input(&g->connections, t, conn, line, lasted ? end : begin, g->exact);
}

void calls_end_pending(struct strace_log *g, struct thread *t) {
    if (!t->pending)
        return;
    t->pending = false;
    if (t->pending_is_input)
        input(g, t, t->pending_connection, t->pending_line, t->pending_ns, g->now_ns);
    else
        waited(t, t->pending_ns, g->now_ns);
}

static void on_wait(struct strace_log *g, struct thread *t, const struct call *c, uint64_t conn,
                    bool is_input) {
    if (c->end_ns < 0) {
        t->pending = true;
        t->pending_is_input = is_input;
        t->pending_connection = conn;
        t->pending_line = c->line;
        t->pending_ns = c->begin_ns;
    } else if (is_input) {
        input(g, t, conn, c->line, c->begin_ns, c->end_ns);
    } else {
        waited(t, c->begin_ns, c->end_ns);
    }
}

static void count(struct strace_log *g, struct connection *conn) {
    if (!conn->counted && (conn->kind == CONNECTION_TCP || conn->kind == CONNECTION_SOCKET))
        g->out->connections++;
    conn->counted |= conn->kind == CONNECTION_TCP || conn->kind == CONNECTION_SOCKET;
}

/* ---- calls ----------------------------------------------------------- */

static void call_read(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    if (!conn)
        return;
    if (conn->kind == CONNECTION_UNKNOWN && strncmp(c->name, "recv", 4) == 0)
        conn->kind = CONNECTION_SOCKET;
    count(g, conn);
    if (!c->failed && c->value == 0)
        message_drop(conn); /* end of file */
    on_wait(g, t, c, conn->node.key, !c->failed && c->value > 0);
}

static void call_wait(struct strace_log *g, struct thread *t, const struct call *c) {
    on_wait(g, t, c, 0, false);
}

static uint64_t sum_of(const char *args, const char *what) {
    uint64_t sum = 0;
    for (const char *p = args; (p = strstr(p, what)) != NULL; p++)
        sum += strtoul(p + strlen(what), NULL, 10);
    return sum;
}

static void call_write(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    if (!conn || c->failed || c->value <= 0)
        return;
    bool send = strncmp(c->name, "send", 4) == 0;
    const char *quote = strrchr(c->args, '"'), *flags = quote ? quote : c->args;
    if (send && strstr(flags, "sa_family="))
        conn->kind = CONNECTION_OTHER; /* datagrams with an address */
    if (conn->kind == CONNECTION_UNKNOWN && send && strcmp(c->name, "sendfile") != 0)
        conn->kind = CONNECTION_SOCKET;
    if (conn->kind == CONNECTION_OTHER)
        return;
    count(g, conn);
    bool more = send && strstr(flags, "MSG_MORE");
    if (strcmp(c->name, "sendmmsg") == 0) {
        for (long i = 0; i < c->value && i < 8; i++)
            message_write(t, conn, sum_of(c->args, "msg_len=") / (uint64_t)c->value, more, c->line,
                          c->begin_ns);
        return;
    }
    message_write(t, conn, (uint64_t)c->value, more, c->line, c->begin_ns);
    g->written = conn->node.key;
    g->written_line = c->line;
}

static void call_socket(struct strace_log *g, struct thread *t, const struct call *c) {
    if (c->failed)
        return;
    bool tcp = strncmp(c->args, "AF_INET", 7) == 0 && strstr(c->args, "SOCK_STREAM");
    connections_add(&g->connections, t, (int)c->value, tcp ? CONNECTION_TCP : CONNECTION_OTHER)
        ->creation_seen = true;
}

static void call_connect(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    char peer[ENDPOINT_TEXT];
    connections_address(c->args, peer);
    if (!conn || !peer[0] || conn->kind == CONNECTION_OTHER)
        return;
    memcpy(conn->peer, peer, sizeof(peer));
    conn->kind = CONNECTION_TCP;
    message_drop(conn);
}

static void call_bind(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    if (conn && !c->failed)
        connections_address(c->args, conn->local);
}

static void call_peer(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    bool ours = strcmp(c->name, "getsockname") == 0;
    char address[ENDPOINT_TEXT];
    connections_address(c->args, address);
    if (conn && !c->failed && address[0])
        memcpy(ours ? conn->local : conn->peer, address, sizeof(address));
}

static void call_accept(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *listener = connections_of_args(&g->connections, t, c->args);
    if (!listener || c->failed)
        return;
    bool tcp = listener->kind != CONNECTION_OTHER, nodelay = listener->nodelay;
    uint64_t listener_key = listener->node.key;
    struct connection *conn =
        connections_add(&g->connections, t, (int)c->value, tcp ? CONNECTION_TCP : CONNECTION_OTHER);
    listener = connections_get(&g->connections, listener_key);
    conn->creation_seen = conn->accepted = true;
    conn->nodelay = nodelay;
    connections_address(c->args, conn->peer);
    if (listener)
        memcpy(conn->local, listener->local, sizeof(conn->local));
}

static void call_option(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    if (!conn || c->failed)
        return;
    const char *nodelay = strstr(c->args, "TCP_NODELAY, ["), *cork = strstr(c->args, "TCP_CORK, [");
    if (nodelay)
        message_nodelay(conn, strtol(nodelay + 14, NULL, 10) != 0);
    if (cork)
        message_cork(conn, strtol(cork + 11, NULL, 10) != 0);
    if ((nodelay || cork || strstr(c->args, "_TCP, ")) && conn->kind != CONNECTION_OTHER)
        conn->kind = CONNECTION_TCP;
}

static void call_dup(struct strace_log *g, struct thread *t, const struct call *c) {
    bool is_dup = strncmp(c->name, "fcntl", 5) != 0 || strstr(c->args, "F_DUPFD");
    struct connection *conn =
        is_dup && !c->failed ? connections_of_args(&g->connections, t, c->args) : NULL;
    if (conn)
        connections_alias(&g->connections, t, (int)c->value, conn);
}

static void call_close(struct strace_log *g, struct thread *t, const struct call *c) {
    const char *p, *end;
    int number = line_descriptor(c->args, &p, &end);
    if (number >= 0)
        connections_close(&g->connections, t, number);
}

/* Handles a call that returns a descriptor other than a connection's. */
static void call_open(struct strace_log *g, struct thread *t, const struct call *c) {
    if (!c->failed)
        connections_add(&g->connections, t, (int)c->value, CONNECTION_OTHER);
}

static void call_pair(struct strace_log *g, struct thread *t, const struct call *c) {
    const char *p = strrchr(c->args, '[');
    for (int i = 0; i < 2 && p && !c->failed; i++) {
        const char *decoration, *end;
        int number = line_descriptor(p + 1 + strspn(p + 1, " "), &decoration, &end);
        if (number >= 0)
            connections_add(&g->connections, t, number, CONNECTION_OTHER);
        p = strchr(end ? end : p + 1, ',');
    }
}

static void call_file(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    if (conn && !c->failed && conn->kind == CONNECTION_UNKNOWN && !strstr(c->args, "S_IFSOCK"))
        conn->kind = CONNECTION_OTHER;
}

static void call_child(struct strace_log *g, struct thread *t, const struct call *c) {
    if (!c->failed && c->value > 0)
        connections_child(&g->connections, t, (int)c->value,
                          strstr(c->args, "CLONE_FILES") || strstr(c->args, "CLONE_THREAD"));
}

/* "/usr/bin/python3" -> "python3". */
static void keep_program(struct thread *t, const char *args) {
    const char *begin = strchr(args, '"'), *end = begin ? strchr(begin + 1, '"') : NULL;
    if (!end)
        return;
    for (const char *p = ++begin; p < end; p++)
        if (*p == '/')
            begin = p + 1;
    snprintf(t->program, sizeof(t->program), "%.*s", (int)(end - begin), begin);
}

/* Keeps the command line of execve's second argument as the user would type it.  It stays empty if strace
 * has cut a word ("..." after the quote), or if a shell would need more quotes. */
static void call_exec(struct strace_log *g, struct thread *t, const struct call *c) {
    (void)g;
    const char *p = strchr(c->args, '['), *end = p ? strstr(p, "], ") : NULL;
    if (c->failed)
        return;
    t->command[0] = t->program[0] = '\0';
    keep_program(t, c->args);
    char command[NAME_TEXT] = "";
    size_t n = 0;
    bool quoted = false;
    for (p = p ? p + 1 : NULL; p && end && p < end; p++) {
        if (strncmp(p, "\"...", 4) == 0 || strchr("\\'$`&;|<>()*?", *p) || n + 1 >= NAME_TEXT ||
            (quoted && *p == ' '))
            break;
        if (*p == '"')
            quoted = !quoted;
        else if (*p != ',')
            command[n++] = *p;
    }
    command[n] = '\0';
    if (p == end)
        memcpy(t->command, command, n + 1);
}

static const struct {
    const char *name;
    void (*act)(struct strace_log *g, struct thread *t, const struct call *c);
} calls[] = {
    {"read", call_read},
    {"readv", call_read},
    {"recv", call_read},
    {"recvfrom", call_read},
    {"recvmsg", call_read},
    {"recvmmsg", call_read},
    {"write", call_write},
    {"writev", call_write},
    {"send", call_write},
    {"sendto", call_write},
    {"sendmsg", call_write},
    {"sendmmsg", call_write},
    {"sendfile", call_write},
    {"sendfile64", call_write},
    {"poll", call_wait},
    {"ppoll", call_wait},
    {"select", call_wait},
    {"_newselect", call_wait},
    {"pselect6", call_wait},
    {"epoll_wait", call_wait},
    {"epoll_pwait", call_wait},
    {"epoll_pwait2", call_wait},
    {"io_uring_enter", call_wait},
    {"socket", call_socket},
    {"connect", call_connect},
    {"bind", call_bind},
    {"accept", call_accept},
    {"accept4", call_accept},
    {"getpeername", call_peer},
    {"getsockname", call_peer},
    {"setsockopt", call_option},
    {"dup", call_dup},
    {"dup2", call_dup},
    {"dup3", call_dup},
    {"fcntl", call_dup},
    {"fcntl64", call_dup},
    {"close", call_close},
    {"open", call_open},
    {"openat", call_open},
    {"openat2", call_open},
    {"creat", call_open},
    {"eventfd2", call_open},
    {"epoll_create1", call_open},
    {"timerfd_create", call_open},
    {"memfd_create", call_open},
    {"signalfd4", call_open},
    {"inotify_init1", call_open},
    {"pidfd_open", call_open},
    {"pipe", call_pair},
    {"pipe2", call_pair},
    {"socketpair", call_pair},
    {"lseek", call_file},
    {"fstat", call_file},
    {"pread64", call_file},
    {"ftruncate", call_file},
    {"getdents64", call_file},
    {"clone", call_child},
    {"clone3", call_child},
    {"fork", call_child},
    {"vfork", call_child},
    {"execve", call_exec},
    {"execveat", call_exec},
};

void calls_apply(struct strace_log *g, struct thread *t, const struct call *c) {
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        if (strcmp(c->name, calls[i].name) == 0) {
            calls[i].act(g, t, c);
            return;
        }
    }
}
