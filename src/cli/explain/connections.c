/* SPDX-License-Identifier: MIT */
#include "connections.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2048, DESCRIPTORS = 8192, CONNECTIONS = 4096, CONVERSATIONS = 256 };

static uint64_t descriptor_key(const struct thread *t, int number) {
    return (uint64_t)(uint32_t)t->process << 32 | (uint32_t)number;
}

/* ---- the tables ------------------------------------------------------ */

static void descriptor_gone(void *context, void *item) {
    struct connections *l = context;
    struct connection *conn = table_find(&l->connections, ((struct descriptor *)item)->connection);
    if (conn && --conn->references == 0)
        table_drop(&l->connections, conn);
}

/* strace has the ids of threads: that of one among several which ran before need not be its process's. */
static void conversation_gone(void *context, void *item) {
    struct connections *l = context;
    struct conversation *h = &((struct conversation_item *)item)->conversation;
    if (h->process && l->unborn > 1)
        snprintf(h->program, sizeof(h->program), "thread %d's process", h->process);
    conversation_judge(h, l->out);
}

bool connections_make(struct connections *l, struct findings *out) {
    *l = (struct connections){.out = out};
    bool made = table_make(&l->threads, THREADS, sizeof(struct thread), NULL, NULL);
    made &= table_make(&l->descriptors, DESCRIPTORS, sizeof(struct descriptor), descriptor_gone, l);
    made &= table_make(&l->connections, CONNECTIONS, sizeof(struct connection), NULL, NULL);
    made &= table_make(&l->conversations, CONVERSATIONS, sizeof(struct conversation_item),
                       conversation_gone, l);
    return made;
}

void connections_free(struct connections *l) {
    table_free(&l->descriptors);
    table_free(&l->connections);
    table_free(&l->threads);
    table_free(&l->conversations);
}

struct thread *connections_thread(struct connections *l, int pid) {
    struct thread *t = table_find(&l->threads, (uint64_t)(uint32_t)pid);
    if (!t) {
        t = table_add(&l->threads, (uint64_t)(uint32_t)pid);
        t->process = pid;
        t->unborn = true;
        l->unborn++;
    }
    return t;
}

struct connection *connections_get(struct connections *l, uint64_t key) {
    return key ? table_find(&l->connections, key) : NULL;
}

/* ---- the decorations of -y and -yy ------------------------------------ */

struct decoded {
    enum connection_kind kind;
    char local[ENDPOINT_TEXT], peer[ENDPOINT_TEXT];
};

static void copy(char *to, size_t size, const char *from, const char *end) {
    size_t n = (size_t)(end - from);
    n = n < size - 1 ? n : size - 1;
    memcpy(to, from, n);
    to[n] = '\0';
}

/* "[::ffff:192.0.2.1]:80", of a socket of version 6, is 192.0.2.1:80, as in a capture. */
static void plain_four(char text[ENDPOINT_TEXT]) {
    static const char mapped[] = "[::ffff:";
    char *end = strncmp(text, mapped, sizeof(mapped) - 1) == 0 ? strchr(text, ']') : NULL;
    if (!end || !memchr(text, '.', (size_t)(end - text)))
        return;
    memmove(end, end + 1, strlen(end));
    memmove(text, text + sizeof(mapped) - 1, strlen(text + sizeof(mapped) - 1) + 1);
}

/* "TCP:[10.0.0.1:4000->10.0.0.2:80]", "TCPv6:[…]", "TCP:[12345]" before it is connected. */
static void decode_tcp(const char *p, const char *end, struct decoded *out) {
    out->kind = CONNECTION_TCP;
    const char *open = memchr(p, '[', (size_t)(end - p));
    if (!open || end[-1] != ']')
        return;
    const char *arrow = memmem(open, (size_t)(end - open), "->", 2);
    if (!arrow)
        return;
    copy(out->local, sizeof(out->local), open + 1, arrow);
    copy(out->peer, sizeof(out->peer), arrow + 2, end - 1);
    plain_four(out->local);
    plain_four(out->peer);
}

static void decode(const char *p, const char *end, struct decoded *out) {
    *out = (struct decoded){.kind = CONNECTION_OTHER};
    size_t n = (size_t)(end - p);
    if (n > 4 && (strncmp(p, "TCP:", 4) == 0 || strncmp(p, "TCPv6:", 6) == 0))
        decode_tcp(p, end, out);
    else if (n > 8 && strncmp(p, "socket:[", 8) == 0)
        out->kind = CONNECTION_SOCKET;
}

/* True if the decoration contradicts the known connection: its descriptor was closed outside of the log. */
static bool is_stale(const struct connection *conn, const struct decoded *decoded) {
    if (decoded->kind == CONNECTION_OTHER)
        return conn->kind != CONNECTION_OTHER && conn->kind != CONNECTION_UNKNOWN;
    if (conn->kind == CONNECTION_OTHER)
        return true;
    return decoded->peer[0] && conn->peer[0] && strcmp(decoded->peer, conn->peer) != 0;
}

static void learn(struct connection *conn, const struct decoded *decoded) {
    if (decoded->kind == CONNECTION_SOCKET ? conn->kind == CONNECTION_UNKNOWN
                                           : conn->kind != CONNECTION_TCP)
        conn->kind = (uint8_t)decoded->kind;
    if (decoded->peer[0]) {
        memcpy(conn->local, decoded->local, sizeof(conn->local));
        memcpy(conn->peer, decoded->peer, sizeof(conn->peer));
    }
}

/* The connection with the same two ends, or NULL.  Another thread may have used it: if the log began after
 * that thread, the log does not show that both are one process. */
static struct connection *same_connection(struct connections *l, const struct decoded *decoded) {
    if (!decoded->peer[0])
        return NULL;
    for (struct node *n = l->connections.newest; n; n = n->older) {
        struct connection *conn = (struct connection *)(void *)n;
        if (conn->kind == CONNECTION_TCP && strcmp(conn->peer, decoded->peer) == 0 &&
            strcmp(conn->local, decoded->local) == 0)
            return conn;
    }
    return NULL;
}

/* ---- descriptors ----------------------------------------------------- */

void connections_close(struct connections *l, const struct thread *t, int number) {
    struct descriptor *d = table_find(&l->descriptors, descriptor_key(t, number));
    if (d)
        table_drop(&l->descriptors, d);
}

void connections_alias(struct connections *l, const struct thread *t, int number,
                       const struct connection *to) {
    uint64_t key = to->node.key;
    const struct descriptor *known = table_find(&l->descriptors, descriptor_key(t, number));
    if (known && known->connection == key)
        return;
    connections_close(l, t, number);
    struct connection *conn = connections_get(l, key);
    if (!conn)
        return; /* that was its only descriptor, so it is gone */
    conn->references++;
    struct descriptor *d = table_add(&l->descriptors, descriptor_key(t, number));
    d->connection = key;
}

struct connection *connections_add(struct connections *l, const struct thread *t, int number,
                                   enum connection_kind kind) {
    connections_close(l, t, number);
    struct connection *conn = table_add(&l->connections, ++l->serial);
    conn->kind = (uint8_t)kind;
    conn->descriptor = number;
    conn->references = 1;
    struct descriptor *d = table_add(&l->descriptors, descriptor_key(t, number));
    d->connection = conn->node.key;
    return conn;
}

static struct connection *met(struct connections *l, const struct thread *t, int number,
                              const struct decoded *decoded) {
    struct connection *other = decoded ? same_connection(l, decoded) : NULL;
    if (other) {
        connections_alias(l, t, number, other);
        return other;
    }
    /* 0 to 2 are taken for a terminal, a file or a pipe unless the log says otherwise. */
    return connections_add(l, t, number,
                           number <= 2 && !decoded ? CONNECTION_OTHER : CONNECTION_UNKNOWN);
}

struct connection *connections_of_args(struct connections *l, const struct thread *t,
                                       const char *args) {
    const char *p, *end;
    int number = line_descriptor(args, &p, &end);
    if (number < 0)
        return NULL;
    struct decoded decoded;
    if (p)
        decode(p, end, &decoded);
    const struct descriptor *d = table_find(&l->descriptors, descriptor_key(t, number));
    struct connection *conn = d ? connections_get(l, d->connection) : NULL;
    if (conn && p && is_stale(conn, &decoded))
        conn = NULL;
    if (!conn)
        conn = met(l, t, number, p ? &decoded : NULL);
    if (p)
        learn(conn, &decoded);
    return conn;
}

/* ---- children -------------------------------------------------------- */

static void copy_descriptors(struct connections *l, int from, const struct thread *child) {
    /* Collected first: adding evicts the oldest entries.  The room is that of the whole table. */
    static struct {
        int number;
        uint64_t connection;
    } found[DESCRIPTORS];
    int count = 0;
    for (struct node *n = l->descriptors.oldest; n; n = n->newer) {
        const struct descriptor *d = (const struct descriptor *)(const void *)n;
        if ((int)(n->key >> 32) == from) {
            found[count].number = (int)(uint32_t)n->key;
            found[count++].connection = d->connection;
        }
    }
    for (int i = 0; i < count; i++) {
        const struct connection *conn = connections_get(l, found[i].connection);
        if (conn && conn->kind != CONNECTION_OTHER)
            connections_alias(l, child, found[i].number, conn);
    }
}

void connections_child(struct connections *l, const struct thread *parent, int pid, bool shares) {
    struct thread from = *parent;
    int process = from.process;
    struct thread *child = connections_thread(l, pid); /* may evict `parent` */
    l->unborn -= child->unborn;
    child->unborn = false;
    if (!child->program[0]) {
        memcpy(child->command, from.command, sizeof(from.command));
        memcpy(child->program, from.program, sizeof(from.program));
    }
    if (shares) {
        child->process = process;
    } else {
        child->process = pid;
        copy_descriptors(l, process, child);
    }
}

/* ---- addresses ------------------------------------------------------- */

void connections_address(const char *args, char text[ENDPOINT_TEXT]) {
    text[0] = '\0';
    const char *port = strstr(args, "port=htons(");
    const char *four = strstr(args, "inet_addr(\""), *six = strstr(args, "inet_pton(AF_INET6, \"");
    const char *address = four ? four + 11 : six ? six + 21 : NULL;
    if (!port || !address)
        return;
    char host[INET6_ADDRSTRLEN];
    copy(host, sizeof(host), address, address + strcspn(address, "\""));
    snprintf(text, ENDPOINT_TEXT, four ? "%s:%d" : "[%s]:%d", host,
             (int)strtol(port + 11, NULL, 10));
    plain_four(text);
}
