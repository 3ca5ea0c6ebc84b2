/* SPDX-License-Identifier: MIT */
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "late.h"
#include "stats_format.h"

/* The MSS of Ethernet and of loopback: a log does not show the real one. */
enum { MSS_USUAL = 1448, MSS_LOOPBACK = 65464 };

/* Later, what was sent has been acknowledged. */
static const int64_t DELAYED_LEAST_NS = LATE_SHORTEST_MS * MS;

/* No timer of a delayed acknowledgement is longer; longer waits are cut. */
static const int64_t LONG_NS = 10000 * MS;

static uint32_t mss_of(const struct connection *conn) {
    bool loopback = strncmp(conn->peer, "127.", 4) == 0 || strncmp(conn->peer, "[::1]", 5) == 0;
    return loopback ? MSS_LOOPBACK : MSS_USUAL;
}

/* ---- writes ---------------------------------------------------------- */

void message_drop(struct connection *conn) {
    conn->units = 0;
    conn->open_unit = conn->pushed = false;
    conn->rest_bytes = 0;
}

void message_write(const struct thread *t, struct connection *conn, uint64_t bytes, bool more,
                   uint64_t line, int64_t at_ns) {
    struct piece piece = {.line = line,
                          .at_ns = at_ns,
                          .bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
                          .pid = (int)t->node.key,
                          .waited_ns = t->waited_ns};
    bool goes_on = conn->open_unit;
    if (goes_on)
        piece.bytes += conn->last.bytes;
    else
        conn->units++;
    conn->open_unit = more || conn->corked;
    conn->last = piece;
    if (conn->units == 1) {
        conn->first = piece;
        return;
    }
    if (conn->units == 2)
        conn->second = piece;
    conn->rest_bytes += bytes;
    conn->pushed |= conn->nodelay;
}

void message_place(struct connection *conn, uint64_t line, const char *place) {
    struct piece *const pieces[] = {&conn->first, &conn->second, &conn->last};
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
        if (pieces[i]->line == line && !pieces[i]->place[0])
            snprintf(pieces[i]->place, PLACE_TEXT, "%s", place);
}

void message_nodelay(struct connection *conn, bool on) {
    conn->nodelay = on;
    if (!on)
        return;
    conn->open_unit = false; /* setting TCP_NODELAY pushes held data */
    conn->pushed |= conn->units > 0;
}

void message_cork(struct connection *conn, bool on) {
    conn->corked = on;
    conn->open_unit = false;
}

/* ---- input ----------------------------------------------------------- */

static enum message_kind kind_of(const struct connection *conn) {
    uint32_t mss = mss_of(conn);
    bool held =
        conn->units >= 2 && !conn->pushed && conn->first.bytes < mss && conn->rest_bytes < mss;
    bool behind = conn->before.line && conn->units == 1 && !conn->nodelay && !conn->corked &&
                  !conn->open_unit && conn->first.bytes < mss &&
                  conn->first.at_ns - conn->before.at_ns < DELAYED_LEAST_NS;
    if (behind)
        return MESSAGE_BEHIND;
    if (!held)
        return MESSAGE_WHOLE;
    return conn->creation_seen && !conn->had_message ? MESSAGE_FIRST : MESSAGE_PIECES;
}

/* True if the thread waited for most of that time.  Otherwise the time is the application's own. */
static bool was_waiting(const struct thread *t, const struct piece *from, int64_t until_ns) {
    int64_t wait = until_ns - from->at_ns, waited;
    if (from->pid == (int)t->node.key) {
        waited = t->waited_ns - from->waited_ns;
    } else {
        int64_t begin = t->wait_from > from->at_ns ? t->wait_from : from->at_ns;
        waited = (t->wait_to < until_ns ? t->wait_to : until_ns) - begin;
    }
    return wait < LATE_IN_LIBRARY_MS * MS || waited >= wait / 10 * 6;
}

static int port_of(const char *endpoint) {
    const char *colon = strrchr(endpoint, ':');
    return colon ? (int)strtol(colon + 1, NULL, 10) : 0;
}

/* For a connection made before the log began, -yy shows both ends: the service has the smaller port. */
static bool is_server(const struct connection *conn) {
    if (conn->accepted || conn->creation_seen)
        return conn->accepted;
    int local = port_of(conn->local), peer = port_of(conn->peer);
    return local > 0 && peer > 0 && local < peer;
}

static void name_conversation(struct conversation *h, const struct thread *t,
                              const struct connection *conn) {
    h->by_server = is_server(conn);
    const char *service = h->by_server ? conn->local : conn->peer;
    h->port = (uint16_t)port_of(service);
    if (service[0])
        memcpy(h->service, service, sizeof(h->service));
    else
        snprintf(h->service, sizeof(h->service), "descriptor %d", conn->descriptor);
    memcpy(h->command, t->command, sizeof(h->command));
    if (t->program[0])
        snprintf(h->program, sizeof(h->program), "%s", t->program);
    else if ((h->process = t->process) != 0)
        snprintf(h->program, sizeof(h->program), "process %d", t->process);
    else
        snprintf(h->program, sizeof(h->program), "the program");
}

static struct conversation *conversation_of(struct connections *l, const struct thread *t,
                                            struct connection *conn) {
    struct conversation_item *item =
        conn->conversation ? table_find(&l->conversations, conn->conversation) : NULL;
    if (item)
        return &item->conversation;
    static struct conversation like; /* static: it has 5 KiB */
    memset(&like, 0, sizeof(like));
    name_conversation(&like, t, conn);
    uint64_t key = stats_hash(like.by_server ? 2 : 1, like.program, strlen(like.program));
    key = stats_hash(key, like.command, strlen(like.command));
    key = stats_hash(key, like.service, strlen(like.service)) | 1;
    item = table_find(&l->conversations, key);
    if (!item) {
        item = table_add(&l->conversations, key);
        item->conversation = like;
    }
    item->conversation.connections++;
    conn->conversation = key;
    return &item->conversation;
}

/* An answer to pieces within some milliseconds shows that they were not held. */
static void note_unheld(struct conversation *h, const struct connection *conn,
                        enum message_kind kind, uint64_t line, int64_t at_ns) {
    struct unheld m = {.pieces = 0};
    unheld_piece(&m, conn->first.line, conn->first.at_ns, conn->first.bytes);
    for (uint32_t i = 1; i < conn->units && i < 3; i++)
        unheld_piece(&m, conn->second.line, conn->second.at_ns, conn->second.bytes);
    bool held = kind != MESSAGE_WHOLE && at_ns - conn->first.at_ns >= UNHELD_APART_NS;
    if (!held && unheld_answered(&m, line, at_ns))
        conversation_unheld(h, &m);
}

/* Input without a write since the last: the peer's own pieces, one of which may have waited. */
static void more_input(struct connections *l, const struct thread *t, const struct connection *conn,
                       int64_t at_ns) {
    struct conversation_item *item =
        conn->conversation ? table_find(&l->conversations, conn->conversation) : NULL;
    int64_t wait = at_ns - conn->input.at_ns;
    if (item && conn->input.line && wait >= 1 * MS && was_waiting(t, &conn->input, at_ns))
        conversation_more(&item->conversation, wait < LONG_NS ? wait : LONG_NS);
}

void message_input(struct connections *l, const struct thread *t, struct connection *conn,
                   uint64_t line, int64_t at_ns, bool exact) {
    if (conn->kind == CONNECTION_OTHER)
        return;
    if (conn->units == 0)
        more_input(l, t, conn, at_ns);
    conn->input = (struct piece){
        .line = line, .at_ns = at_ns, .pid = (int)t->node.key, .waited_ns = t->waited_ns};
    if (conn->units == 0)
        return;
    enum message_kind kind = kind_of(conn);
    bool whole = kind == MESSAGE_WHOLE || kind == MESSAGE_BEHIND;
    const struct piece *from = whole ? &conn->last : &conn->second;
    const struct piece *one = kind == MESSAGE_BEHIND ? &conn->before : &conn->first;
    const struct piece *two = kind == MESSAGE_BEHIND ? &conn->first : &conn->second;
    if (at_ns >= from->at_ns && was_waiting(t, from, at_ns)) {
        struct conversation *h = conversation_of(l, t, conn);
        h->exact |= exact;
        uint32_t rest = kind == MESSAGE_BEHIND ? conn->first.bytes : (uint32_t)conn->rest_bytes;
        struct finding_example example = {.number = {one->line, two->line, line},
                                          .at_ns = {one->at_ns, two->at_ns, at_ns},
                                          .bytes = {one->bytes, rest}};
        snprintf(example.from, sizeof(example.from), "%d", conn->descriptor);
        const char *to = !h->by_server ? h->service : conn->peer[0] ? conn->peer : "a client";
        snprintf(example.to, sizeof(example.to), "%s", to);
        memcpy(example.place[0], one->place, PLACE_TEXT);
        memcpy(example.place[1], two->place, PLACE_TEXT);
        note_unheld(h, conn, kind, line, at_ns);
        int64_t wait = at_ns - from->at_ns;
        conversation_add(h, kind, wait < LONG_NS ? wait : LONG_NS, &example);
    } else {
        l->out->unwaited++;
    }
    conn->before = (struct piece){.line = 0};
    if (conn->units >= 2 && !conn->pushed)
        conn->before = conn->last;
    conn->had_message = true;
    message_drop(conn);
}
