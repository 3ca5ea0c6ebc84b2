/* SPDX-License-Identifier: MIT */
#include "diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock_ns.h"
#include "process_stat.h"

enum {
    BUFFER = 64 * 1024,
    TIMER_RETRANSMISSION = 1,
    STATE_ESTABLISHED = 1,
    STATE_CLOSE_WAIT = 8, /* the peer has ended its side and may still be answered */
    STATE_LISTEN = 10,
};

struct request {
    struct nlmsghdr header;
    struct inet_diag_req_v2 body;
};

struct scan_diag {
    int fd;
    uint32_t sequence;
    union {
        struct nlmsghdr header;
        char bytes[BUFFER];
    };
};

static bool is_same(int a, int b) {
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

/* A socket stays in the namespace in which it was made, so the thread enters the other one only to make
 * it. */
static int socket_in(pid_t pid) {
    char name[PROCESS_PATH];
    CLOSED_FD own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    CLOSED_FD other = pid ? open(process_path(pid, "ns/net", name), O_RDONLY | O_CLOEXEC) : -1;
    bool moves = own >= 0 && other >= 0 && !is_same(own, other);
    if (own < 0 || (pid && other < 0) || (moves && setns(other, CLONE_NEWNET) != 0))
        return -errno;
    int result = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    result = result < 0 ? -errno : result;
    if (moves && setns(own, CLONE_NEWNET) != 0) {
        CLOSED_FD elsewhere = result;
        result = -errno;
    }
    return result;
}

int scan_diag_open(struct scan_diag **d, pid_t namespace_of) {
    struct timeval patience = {.tv_sec = 2};
    *d = calloc(1, sizeof(**d));
    if (!*d)
        return -ENOMEM;
    (*d)->fd = socket_in(namespace_of);
    if ((*d)->fd < 0) {
        int error = (*d)->fd;
        free(*d);
        *d = NULL;
        return error;
    }
    setsockopt((*d)->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return 0;
}

void scan_diag_close(struct scan_diag *d) {
    if (d)
        close(d->fd);
    free(d);
}

/* ---- addresses --------------------------------------------------------- */

static struct stats_address address_of(uint8_t family, const __be32 words[4], __be16 port) {
    struct stats_address a = {.port = ntohs(port)};
    bool mapped = family == AF_INET6 && !words[0] && !words[1] && words[2] == htonl(0xffff);
    a.family = family == AF_INET || mapped ? AF_INET : AF_INET6;
    memcpy(a.address, mapped ? &words[3] : words, a.family == AF_INET ? 4 : 16);
    return a;
}

static void put_address(const struct stats_address *a, uint8_t family, __be32 words[4]) {
    memset(words, 0, 16);
    if (a->family == AF_INET && family == AF_INET6) {
        words[2] = htonl(0xffff);
        memcpy(&words[3], a->address, 4);
    } else {
        memcpy(words, a->address, a->family == AF_INET ? 4 : 16);
    }
}

static struct scan_key key_of(const struct inet_diag_msg *m) {
    struct scan_key key = {.family = m->idiag_family, .interface = m->id.idiag_if};
    key.local = address_of(m->idiag_family, m->id.idiag_src, m->id.idiag_sport);
    key.peer = address_of(m->idiag_family, m->id.idiag_dst, m->id.idiag_dport);
    memcpy(key.cookie, m->id.idiag_cookie, sizeof(key.cookie));
    return key;
}

static void put_key(const struct scan_key *key, struct inet_diag_sockid *id) {
    id->idiag_sport = htons(key->local.port);
    id->idiag_dport = htons(key->peer.port);
    id->idiag_if = key->interface;
    memcpy(id->idiag_cookie, key->cookie, sizeof(key->cookie));
    put_address(&key->local, key->family, id->idiag_src);
    put_address(&key->peer, key->family, id->idiag_dst);
}

/* ---- samples ----------------------------------------------------------- */

static bool has(size_t size, size_t offset) {
    return size >= offset + sizeof(uint32_t);
}

static int take_info(const struct tcp_info *given, size_t size, struct scan_sample *s) {
    struct tcp_info i = {0};
    if (!has(size, offsetof(struct tcp_info, tcpi_data_segs_out)))
        return -EOPNOTSUPP;
    memcpy(&i, given, size < sizeof(i) ? size : sizeof(i));
    s->unsent = i.tcpi_notsent_bytes;
    s->unacked = i.tcpi_unacked;
    s->mss = i.tcpi_snd_mss;
    s->cwnd = i.tcpi_snd_cwnd;
    s->window = has(size, offsetof(struct tcp_info, tcpi_snd_wnd)) ? i.tcpi_snd_wnd : UINT32_MAX;
    s->since_sent_ms = i.tcpi_last_data_sent;
    s->min_rtt_us = i.tcpi_min_rtt == UINT32_MAX ? 0 : i.tcpi_min_rtt;
    s->pacing = i.tcpi_pacing_rate;
    s->acked = i.tcpi_bytes_acked;
    s->received = i.tcpi_bytes_received;
    s->segments_in = i.tcpi_segs_in;
    s->data_in = i.tcpi_data_segs_in;
    s->data_out = i.tcpi_data_segs_out;
    s->recovers = i.tcpi_ca_state > 1; /* beyond Open and Disorder */
    return 0;
}

static int take_sample(struct nlmsghdr *h, struct scan_sample *s) {
    const struct inet_diag_msg *m = NLMSG_DATA(h);
    struct rtattr *a = (void *)((uintptr_t)m + sizeof(*m)); /* RTA_NEXT() takes no const */
    int left = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*m))), result = -ENOENT;
    *s = (struct scan_sample){
        .at_ns = clock_ns(CLOCK_MONOTONIC),
                                .inode = m->idiag_inode,
                                .uid = m->idiag_uid,
                                .queued = m->idiag_wqueue};
    for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == INET_DIAG_INFO)
            result = take_info(RTA_DATA(a), RTA_PAYLOAD(a), s);
    return result;
}

/* ---- all sockets --------------------------------------------------------- */

static void tell(struct nlmsghdr *h, scan_listed_fn *each, void *arg) {
    const struct inet_diag_msg *m = NLMSG_DATA(h);
    struct scan_listed l = {.key = key_of(m), .in_flight = m->idiag_timer == TIMER_RETRANSMISSION};
    take_sample(h, &l.sample);
    each(&l, arg);
}

/* One buffer of a dump.  1: the dump has ended; 0: more will come; or -errno. */
static int take_part(struct scan_diag *d, ssize_t length, scan_listed_fn *each, void *arg,
                     int *count) {
    ssize_t left = length; /* signed, and wider than nlmsg_len: NLMSG_OK() compares both */
    for (struct nlmsghdr *h = &d->header; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
        if (h->nlmsg_seq != d->sequence)
            continue; /* belongs to an earlier dump, which was not read to its end */
        if (h->nlmsg_type == NLMSG_DONE)
            return 1;
        if (h->nlmsg_type == NLMSG_ERROR)
            return ((struct nlmsgerr *)NLMSG_DATA(h))->error;
        if (h->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
            continue;
        tell(h, each, arg);
        ++*count;
    }
    return 0;
}

static struct request request_for(struct scan_diag *d, uint8_t family, uint16_t flags, uint32_t states) {
    return (struct request){
        .header = {.nlmsg_len = sizeof(struct request),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
                   .nlmsg_seq = ++d->sequence},
        .body = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = states},
    };
}

static int dump_family(struct scan_diag *d, uint8_t family, enum scan_which which, scan_listed_fn *each,
                       void *arg, int *count) {
    uint32_t states = which == SCAN_LISTENING ? 1u << STATE_LISTEN
                                              : 1u << STATE_ESTABLISHED | 1u << STATE_CLOSE_WAIT;
    struct request r = request_for(d, family, NLM_F_DUMP, states);
    if (which == SCAN_COUNTED)
        r.body.idiag_ext = 1 << (INET_DIAG_INFO - 1);
    int result = 0;
    if (send(d->fd, &r, sizeof(r), 0) < 0)
        return -errno;
    while (result == 0) {
        ssize_t length = recv(d->fd, d->bytes, sizeof(d->bytes), 0);
        if (length < 0 && errno != EINTR)
            return -errno;
        if (length > 0)
            result = take_part(d, length, each, arg, count);
    }
    return result < 0 ? result : 0;
}

int scan_diag_dump(struct scan_diag *d, enum scan_which which, scan_listed_fn *each, void *arg) {
    int count = 0;
    int failed = dump_family(d, AF_INET, which, each, arg, &count);
    int failed6 = failed == -ENOENT ? failed : dump_family(d, AF_INET6, which, each, arg, &count);
    if (failed)
        return failed;
    return failed6 && failed6 != -ENOENT ? failed6 : count; /* -ENOENT: the kernel has no IPv6 */
}

/* ---- single sockets -------------------------------------------------------- */

static void prepare(struct scan_diag *d, struct request *r, const struct scan_key *key) {
    *r = request_for(d, key->family, 0, UINT32_MAX);
    r->body.idiag_ext = 1 << (INET_DIAG_INFO - 1);
    put_key(key, &r->body.id);
}

/* Takes the answer to one of the `count` requests, numbered from `first` on.  1: it
 * was the last one; 0: more will come; or -errno. */
static int take_answer(struct scan_diag *d, ssize_t length, uint32_t first, size_t count,
                       struct scan_sample samples[], bool found[]) {
    ssize_t left = length; /* signed, and wider than nlmsg_len: NLMSG_OK() compares both */
    struct nlmsghdr *h = &d->header;
    if (!NLMSG_OK(h, left) || h->nlmsg_seq - first >= count)
        return 0;
    size_t which = h->nlmsg_seq - first;
    int result = 0;
    if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
        h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg))) {
        result = take_sample(h, &samples[which]);
        found[which] = result == 0;
    }
    if (result == -EOPNOTSUPP)
        return result;
    return which == count - 1; /* a socket without tcp_info has been closed (TIME_WAIT): not found */
}

int scan_diag_query(struct scan_diag *d, const struct scan_key *const keys[], size_t count,
                    struct scan_sample samples[], bool found[]) {
    struct request requests[SCAN_QUERIES];
    uint32_t first = d->sequence + 1;
    count = count < SCAN_QUERIES ? count : SCAN_QUERIES;
    memset(found, 0, count * sizeof(*found));
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        prepare(d, &requests[i], keys[i]);
    /* The kernel answers within send(2), in this order; each request has one answer. */
    if (send(d->fd, requests, count * sizeof(*requests), 0) < 0)
        return -errno;
    for (int result = 0; result == 0;) {
        ssize_t length = recv(d->fd, d->bytes, sizeof(d->bytes), 0);
        if (length < 0 && errno != EINTR)
            return -errno;
        if (length > 0)
            result = take_answer(d, length, first, count, samples, found);
        if (result < 0)
            return result;
    }
    return 0;
}

uint64_t scan_diag_peer(struct scan_diag *d, const struct scan_key *key) {
    const struct scan_key back = {.family = key->local.family,
                                  .local = key->peer,
                                  .peer = key->local,
                                  .cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}},
                          *asked = &back;
    struct scan_sample sample;
    bool found;
    return scan_diag_query(d, &asked, 1, &sample, &found) == 0 && found ? sample.inode : 0;
}

/* ---- listening ports ------------------------------------------------------- */

static void take_port(const struct scan_listed *found, void *arg) {
    struct scan_listeners *l = arg;
    l->port[found->key.local.port] = 1;
}

int scan_listeners_look(struct scan_listeners *l, struct scan_diag *d) {
    int count = scan_diag_dump(d, SCAN_LISTENING, take_port, l);
    return count < 0 && count != -ENOBUFS ? count : 0;
}
