/* SPDX-License-Identifier: MIT */
#include "explain_message.h"

#include <stdlib.h>
#include <string.h>

/* The usual path; a longer one is not in the log. */
enum { MSS_USUAL = 1448, MSS_LOOPBACK = 65464 };

/* What is longer is told by nobody's timer. */
static const int64_t LONG_NS = 10000 * MS;

static uint32_t mss_of(const struct link *link) {
    bool loopback = strncmp(link->peer, "127.", 4) == 0 || strncmp(link->peer, "[::1]", 5) == 0;
    return loopback ? MSS_LOOPBACK : MSS_USUAL;
}

/* ---- writes ---------------------------------------------------------- */

void message_drop(struct link *link) {
    link->units = 0;
    link->open_unit = link->pushed = false;
    link->rest_bytes = 0;
}

void message_write(const struct thread *t, struct link *link, uint64_t bytes, bool more,
                   uint64_t line, int64_t at_ns) {
    struct piece piece = {.line = line,
                          .at_ns = at_ns,
                          .bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
                          .pid = (int)t->node.key,
                          .waited_ns = t->waited_ns};
    bool goes_on = link->open_unit;
    if (goes_on)
        piece.bytes += link->last.bytes;
    else
        link->units++;
    link->open_unit = more || link->corked;
    link->last = piece;
    if (link->units == 1) {
        link->first = piece;
        return;
    }
    if (link->units == 2)
        link->second = piece;
    link->rest_bytes += bytes;
    link->pushed |= link->nodelay;
}

void message_nodelay(struct link *link, bool on) {
    link->nodelay = on;
    if (!on)
        return;
    link->open_unit = false; /* whatever was kept back leaves now */
    link->pushed |= link->units > 0;
}

void message_cork(struct link *link, bool on) {
    link->corked = on;
    link->open_unit = false;
}

/* ---- input ----------------------------------------------------------- */

static enum message_kind kind_of(const struct link *link) {
    uint32_t mss = mss_of(link);
    bool held =
        link->units >= 2 && !link->pushed && link->first.bytes < mss && link->rest_bytes < mss;
    if (!held)
        return MESSAGE_WHOLE;
    return link->born && !link->spoken ? MESSAGE_FIRST : MESSAGE_PIECES;
}

/* Was the thread waiting all that time?  Else it is the application's own. */
static bool was_waiting(const struct thread *t, const struct piece *from, int64_t until_ns) {
    int64_t wait = until_ns - from->at_ns, waited;
    if (from->pid == (int)t->node.key) {
        waited = t->waited_ns - from->waited_ns;
    } else {
        int64_t begin = t->wait_from > from->at_ns ? t->wait_from : from->at_ns;
        waited = (t->wait_to < until_ns ? t->wait_to : until_ns) - begin;
    }
    return wait < 20 * MS || waited >= wait / 10 * 6;
}

static int port_of(const char *endpoint) {
    const char *colon = strrchr(endpoint, ':');
    return colon ? (int)strtol(colon + 1, NULL, 10) : 0;
}

/* -yy tells both ends of a connection that was there before; the smaller port is the service's. */
static bool is_server(const struct link *link) {
    if (link->accepted || link->born)
        return link->accepted;
    int local = port_of(link->local), peer = port_of(link->peer);
    return local > 0 && peer > 0 && local < peer;
}

static void name_habit(struct habit *h, const struct thread *t, const struct link *link) {
    h->by_server = is_server(link);
    const char *service = h->by_server ? link->local : link->peer;
    h->port = (uint16_t)port_of(service);
    if (service[0])
        memcpy(h->service, service, sizeof(h->service));
    else
        snprintf(h->service, sizeof(h->service), "descriptor %d", link->descriptor);
    memcpy(h->command, t->command, sizeof(h->command));
    if (t->program[0])
        snprintf(h->program, sizeof(h->program), "%s", t->program);
    else if (t->process)
        snprintf(h->program, sizeof(h->program), "process %d", t->process);
    else
        snprintf(h->program, sizeof(h->program), "the program");
}

static uint64_t hash(uint64_t h, const char *text) {
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3;
    return h;
}

static struct habit *habit_of(struct links *l, const struct thread *t, struct link *link) {
    struct habit_item *item = link->habit ? table_find(&l->habits, link->habit) : NULL;
    if (item)
        return &item->habit;
    static struct habit like; /* of 5 KiB */
    memset(&like, 0, sizeof(like));
    name_habit(&like, t, link);
    uint64_t key =
        hash(hash(hash(like.by_server ? 2 : 1, like.program), like.command), like.service) | 1;
    item = table_find(&l->habits, key);
    if (!item) {
        item = table_add(&l->habits, key);
        item->habit = like;
    }
    item->habit.connections++;
    link->habit = key;
    return &item->habit;
}

void message_input(struct links *l, const struct thread *t, struct link *link, uint64_t line,
                   int64_t at_ns, bool exact) {
    if (link->units == 0 || link->kind == LINK_OTHER)
        return;
    enum message_kind kind = kind_of(link);
    const struct piece *from = kind == MESSAGE_WHOLE ? &link->last : &link->second;
    if (at_ns >= from->at_ns && was_waiting(t, from, at_ns)) {
        struct habit *h = habit_of(l, t, link);
        h->exact |= exact;
        struct shown example = {.number = {link->first.line, link->second.line, line},
                                .at_ns = {link->first.at_ns, link->second.at_ns, at_ns},
                                .bytes = {link->first.bytes, (uint32_t)link->rest_bytes}};
        snprintf(example.from, sizeof(example.from), "%d", link->descriptor);
        memcpy(example.to, h->service, sizeof(example.to));
        int64_t wait = at_ns - from->at_ns;
        habit_add(h, kind, wait < LONG_NS ? wait : LONG_NS, &example);
    }
    link->spoken = true;
    message_drop(link);
}
