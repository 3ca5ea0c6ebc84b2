/* SPDX-License-Identifier: MIT */
#include "scan_table.h"

#include <errno.h>
#include <string.h>

#include "array.h"
#include "closing.h"
#include "diag.h"

/* ---- owners of sockets ------------------------------------------------------- */

/* Of a process that the source (`exact`) knows, the program is read now, while it runs; another is sought. */
static int want(struct scan_table *t, uint64_t inode, pid_t pid) {
    if (inode == 0 || scan_owner_find(t->owners, t->sorted, inode))
        return 0;
    /* sort_owners() removes one of two new ones with the same inode */
    if (!ARRAY_ADD(t->owners, t->owner_count, (struct scan_owner){.inode = inode}))
        return -ENOMEM;
    scan_process_of(pid, &t->owners[t->owner_count - 1].process);
    t->seeks |= pid == 0;
    return 0;
}

static void sort_owners(struct scan_table *t) {
    size_t kept = 0;
    scan_owners_sort(t->owners, t->owner_count);
    for (size_t i = 0; i < t->owner_count; i++) {
        struct scan_owner *o = &t->owners[i];
        if (kept && t->owners[kept - 1].inode == o->inode) {
            if (!t->owners[kept - 1].process.pid)
                t->owners[kept - 1] = *o;
            continue;
        }
        t->owners[kept++] = *o;
    }
    t->owner_count = t->sorted = kept;
}

/* An incomplete walk is made again once twice as many descriptors may be read. */
static void seek(struct scan_table *t, size_t most) {
    size_t may = most > t->looked ? most - t->looked : 0, left = may;
    if (may < t->enough || may == 0)
        return;
    t->seeks = !scan_owners_find(t->owners, t->owner_count, &left);
    t->looked += may - left;
    if (t->seeks)
        t->enough = 2 * may;
}

int scan_table_learn(struct scan_table *t, const struct scan_result *r, size_t most) {
    for (size_t i = 0; i < r->count; i++) {
        const struct scan_connection *c = &r->connections[i];
        int failed = want(t, c->inode, c->pid);
        if (!failed)
            failed = want(t, c->peer_inode, 0);
        if (failed)
            return failed;
    }
    sort_owners(t);
    if (t->seeks)
        seek(t, most);
    return 0;
}

static int inode_order(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

void scan_table_keep(struct scan_table *t, const struct scan_result *r) {
    FREED uint64_t *wanted = calloc(2 * r->count + 1, sizeof(*wanted));
    size_t kept = 0;
    if (!wanted)
        return;
    for (size_t i = 0; i < r->count; i++) {
        wanted[2 * i] = r->connections[i].inode;
        wanted[2 * i + 1] = r->connections[i].peer_inode;
    }
    qsort(wanted, 2 * r->count, sizeof(*wanted), inode_order);
    for (size_t i = 0; i < t->owner_count; i++)
        if (bsearch(&t->owners[i].inode, wanted, 2 * r->count, sizeof(*wanted), inode_order))
            t->owners[kept++] = t->owners[i];
    t->owner_count = t->sorted = kept;
}

/* The process with this socket; with `pid` known, of this number. */
static void process_of(const struct scan_table *t, pid_t pid, uint64_t inode, struct scan_process *p) {
    const struct scan_process *known = scan_owner_of(t->owners, t->sorted, inode);
    if (known && (pid == 0 || pid == known->pid))
        *p = *known;
    else
        scan_process_of(pid, p);
}

const struct scan_process *scan_table_sender(const struct scan_table *t,
                                             const struct scan_connection *c,
                                             struct scan_process *room) {
    const struct scan_owner *o = scan_owner_find(t->owners, t->sorted, c->inode);
    if (!c->pid && o && !o->process.pid && !o->sought)
        return NULL;
    process_of(t, c->pid, c->inode, room);
    if (c->pid && !room->program[0]) /* it ended before it was looked at */
        memcpy(room->program, c->thread, sizeof(c->thread));
    return room;
}

/* ---- rows ------------------------------------------------------------------ */

/* True if the sender is the service.  Where neither port has a listening socket, the lower port is
 * taken for the service's. */
static bool is_service(const struct scan_result *r, const struct scan_key *key) {
    const uint8_t *listens = r->listening->port;
    return listens[key->local.port] || (!listens[key->peer.port] && key->local.port < key->peer.port);
}

static bool same_address(const struct stats_address *a, const struct stats_address *b) {
    return a->family == b->family && a->port == b->port &&
           memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

/* The same address at both ends is this host's, also where the receiver has ended. */
static bool has_both_ends(const struct scan_key *k) {
    return memcmp(k->local.address, k->peer.address, sizeof(k->local.address)) == 0;
}

static bool same_row(const struct scan_row *a, const struct scan_row *b) {
    return a->process.pid == b->process.pid && a->listens == b->listens &&
           a->one_way == b->one_way && same_address(&a->endpoint, &b->endpoint) &&
           (a->process.pid || a->uid == b->uid);
}

static void add_estimate(struct scan_estimate *to, const struct scan_estimate *from) {
    to->count += from->count;
    to->lost_ns += from->lost_ns;
    to->variance += from->variance;
    to->edges += from->edges;
    to->seen += from->seen;
    to->seen_ns += from->seen_ns;
}

static bool is_within(const struct scan_process *p, const char *cgroup) {
    return p->pid && scan_cgroup_matches(p->cgroup, cgroup);
}

static bool is_wanted(const struct scan_row *row, const struct scan_filter *f) {
    if (f->pid && row->process.pid != f->pid && row->peer.pid != f->pid)
        return false;
    return !f->cgroup || is_within(&row->process, f->cgroup) || is_within(&row->peer, f->cgroup);
}

static void add_row(struct scan_table *t, const struct scan_result *r,
                    const struct scan_connection *c, const struct scan_filter *f) {
    struct scan_row row = {
        .peer_local = c->peer_inode != 0 || has_both_ends(&c->key),
        .listens = is_service(r, &c->key),
        .one_way = c->one_way,
        .uid = c->uid,
        .connections = 1,
        .stalls = c->stalls,
    };
    scan_table_sender(t, c, &row.process);
    process_of(t, 0, c->peer_inode, &row.peer);
    row.endpoint = row.listens ? c->key.local : c->key.peer;
    memcpy(row.thread, c->thread, sizeof(row.thread));
    if (!is_wanted(&row, f))
        return;
    for (size_t i = 0; i < t->count; i++) {
        struct scan_row *same = &t->rows[i];
        if (!same_row(same, &row))
            continue;
        add_estimate(&same->stalls, &row.stalls);
        same->connections++;
        if (same->peer.pid != row.peer.pid)
            same->peer = (struct scan_process){0}; /* several receivers */
        return;
    }
    t->rows[t->count++] = row;
}

static int heaviest_first(const void *a, const void *b) {
    const struct scan_row *x = a, *y = b;
    if (x->one_way != y->one_way)
        return x->one_way - y->one_way;
    return x->stalls.lost_ns < y->stalls.lost_ns   ? 1
           : x->stalls.lost_ns > y->stalls.lost_ns ? -1
                                                   : 0;
}

static void end_estimate(struct scan_estimate *e, enum scan_kind kind) {
    if (kind == SCAN_SAMPLED)
        scan_estimate_end(e);
    else
        e->low = e->high = e->count;
}

int scan_table_make(struct scan_table *t, const struct scan_result *r,
                    const struct scan_filter *f) {
    free(t->rows);
    t->count = t->one_way = 0;
    t->all = (struct scan_estimate){0};
    t->rows = calloc(r->count + 1, sizeof(*t->rows));
    if (!t->rows)
        return -ENOMEM;
    for (size_t i = 0; i < r->count; i++)
        add_row(t, r, &r->connections[i], f);
    if (t->count)
        qsort(t->rows, t->count, sizeof(*t->rows), heaviest_first);
    for (size_t i = 0; i < t->count; i++) {
        struct scan_row *row = &t->rows[i];
        t->one_way += row->one_way;
        if (!row->one_way)
            add_estimate(&t->all, &row->stalls);
        end_estimate(&row->stalls, r->kind);
    }
    end_estimate(&t->all, r->kind);
    return 0;
}

void scan_table_end(struct scan_table *t) {
    free(t->owners);
    free(t->rows);
    *t = (struct scan_table){0};
}
