/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME(constant, name, what) [COUNT_##constant] = #name,
static const char *const names[STATS_COUNTERS] = {STATS_COUNTERS_OF(NAME)};
#undef NAME

void table_begin(struct stats_file *s) {
    memset(s, 0, sizeof(*s));
    memcpy(s->header.magic, STATS_MAGIC, sizeof(s->header.magic));
    s->header.version = STATS_VERSION;
    s->header.header_bytes = sizeof(s->header);
    s->header.bytes = STATS_BYTES;
    s->header.started_ns = UINT64_C(1767225600123000000); /* 2026-01-01 */
    s->header.started_monotonic_ns = UINT64_C(1000000000);
    s->header.ended_monotonic_ns = UINT64_C(13300000000);
    s->header.pid = 4711;
    s->header.parent = 1;
    s->header.mode = STATS_MODE_OBSERVE;
    s->header.window_us = 1000;
    s->header.machine = 62;
    strcpy(s->header.program, "/usr/bin/python3");
    strcpy(s->header.library, "0.1.0");
    s->control.version = CONTROL_VERSION;
    s->control.mode = CONTROL_KEEP;
}

static bool header(struct stats_file *s, const char *key, uint64_t n) {
    struct stats_header *h = &s->header;
    if (strcmp(key, "version") == 0)
        h->version = (uint32_t)n;
    else if (strcmp(key, "header_bytes") == 0)
        h->header_bytes = (uint32_t)n;
    else if (strcmp(key, "bytes") == 0)
        h->bytes = n;
    else if (strcmp(key, "pid") == 0)
        h->pid = (uint32_t)n;
    else if (strcmp(key, "mode") == 0)
        h->mode = (uint32_t)n;
    else if (strcmp(key, "started") == 0)
        h->started_ns = n;
    else if (strcmp(key, "began") == 0)
        h->started_monotonic_ns = n;
    else if (strcmp(key, "loaded") == 0)
        h->loaded_monotonic_ns = n;
    else if (strcmp(key, "ended") == 0)
        h->ended_monotonic_ns = n;
    else if (strcmp(key, "stacks_off") == 0)
        h->stacks_off = (uint32_t)n;
    else if (strcmp(key, "lost_connections") == 0)
        h->lost_connections = n;
    else if (strcmp(key, "lost_rows") == 0)
        h->lost_rows = n;
    else
        return false;
    return true;
}

static void address(struct stats_address *a, unsigned family, const char *text, unsigned port) {
    a->family = (uint8_t)(family == 6 ? AF_INET6 : family == 4 ? AF_INET : family);
    a->port = (uint16_t)port;
    if (family)
        inet_pton(a->family, text, a->address);
}

static bool row(struct stats_file *s, const char *line) {
    unsigned n, role, arm, mode, family, port;
    char text[64];
    if (sscanf(line, "row %u %u %u %u %u %63s %u", &n, &role, &arm, &mode, &family, text, &port) !=
            7 ||
        n >= STATS_ROWS)
        return false;
    s->row[n].role = (uint8_t)role;
    s->row[n].arm = (uint8_t)arm;
    s->row[n].mode = (uint8_t)mode;
    address(&s->row[n].endpoint, family, text, port);
    s->row[n].state = STATS_VALID;
    return true;
}

static bool add(struct stats_file *s, unsigned n, const char *name, uint64_t value) {
    for (unsigned i = 0; i < STATS_COUNTERS; i++)
        if (strcmp(names[i], name) == 0) {
            for (unsigned k = 1; k < STATS_SHARDS; k++)
                STATS_COUNTER(&s->shard[n][k], i) += value / STATS_SHARDS;
            STATS_COUNTER(&s->shard[n][0], i) += value - value / STATS_SHARDS * (STATS_SHARDS - 1);
            return true;
        }
    return false;
}

static bool count(struct stats_file *s, const char *line) {
    unsigned n;
    char name[64];
    uint64_t value;
    int length;
    if (sscanf(line, "count %u%n", &n, &length) != 1 || n >= STATS_ROWS)
        return false;
    do {
        line += length;
        if (sscanf(line, "%63s %" SCNu64 " %n", name, &value, &length) != 2 || !add(s, n, name, value))
            return false;
    } while (line[length]);
    return true;
}

static bool times(struct stats_file *s, const char *line, bool exchange) {
    unsigned n;
    uint64_t ns, many;
    if (sscanf(line, "%*s %u %" SCNu64 " %" SCNu64, &n, &ns, &many) != 3 || n >= STATS_ROWS)
        return false;
    unsigned bucket = histogram_bucket_of(ns, HISTOGRAM_STEPS);
    struct stats_shard *shard = &s->shard[n][ns % STATS_SHARDS];
    if (exchange) {
        shard->exchange[bucket] += many;
        shard->counter[COUNT_EXCHANGES] += many;
        shard->counter[COUNT_EXCHANGE_NS] += ns * many;
    } else {
        shard->answer[bucket] += many;
        shard->counter[COUNT_ANSWERS] += many;
        shard->counter[COUNT_ANSWER_NS] += ns * many;
    }
    return true;
}

static bool connection(struct stats_file *s, const char *line) {
    unsigned arm, mode, peer_port, local_port;
    char peer[64], local[64];
    uint64_t ns;
    struct stats_connection c;
    memset(&c, 0, sizeof(c));
    if (sscanf(line,
               "connection %" SCNu64 " %u %u %u %" SCNu64 " %" SCNu64 " %63s %u %63s %u %" SCNu64
               " %" SCNu64,
               &c.serial, &c.row, &arm, &mode, &c.opened_ns, &c.ended_ns, peer, &peer_port, local,
               &local_port, &c.exchanges, &ns) != 12)
        return false;
    c.arm = (uint8_t)arm;
    c.mode = (uint8_t)mode;
    address(&c.peer, 4, peer, peer_port);
    address(&c.local, 4, local, local_port);
    c.exchange_ns = ns * c.exchanges;
    c.exchange_longest_ns = ns;
    c.exchange[histogram_bucket_of(ns, COARSE_STEPS)] = (uint16_t)c.exchanges;
    c.state = STATS_VALID;
    s->connection[c.serial % STATS_CONNECTIONS] = c;
    return true;
}

static bool module(struct stats_file *s, const char *line) {
    struct stats_module m;
    char path[STATS_PATH];
    memset(&m, 0, sizeof(m));
    if (sscanf(line, "module %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %159s", &m.start,
               &m.end, &m.offset, &m.head, path) != 5)
        return false;
    strcpy(m.path, path);
    m.state = STATS_VALID;
    for (unsigned i = 0; i < STATS_MODULES; i++)
        if (s->module[i].state == STATS_FREE) {
            s->module[i] = m;
            return true;
        }
    return false;
}

static bool pattern(struct stats_file *s, const char *line) {
    for (unsigned i = 0; i < STATS_PATTERNS; i++) {
        struct stats_pattern *p = &s->pattern[i];
        if (p->state != STATS_FREE)
            continue;
        p->state = STATS_VALID;
        return sscanf(line, "pattern %hu %" SCNx64 " %" SCNx64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
                      &p->row, &p->caller[0], &p->caller[1], &p->count, &p->stalls,
                      &p->stall_ns) == 6;
    }
    return false;
}

static bool pieces(struct stats_file *s, const char *line) {
    unsigned n = 0;
    while (n < STATS_PATTERNS && s->pattern[n].state != STATS_FREE)
        n++;
    if (!n)
        return false;
    struct stats_occurrence *o = &s->pattern[n - 1].occurrence[0];
    o->state = STATS_VALID;
    return sscanf(line, "pieces %" SCNu64 " %" SCNu64, &o->write[0].bytes, &o->write[1].bytes) == 2;
}

static bool bytes(struct stats_file *s, const char *line) {
    size_t offset;
    char hex[513];
    if (sscanf(line, "bytes %zu %512s", &offset, hex) != 2)
        return false;
    unsigned b;
    for (size_t i = 0; sscanf(hex + 2 * i, "%2x", &b) == 1; i++) {
        if (offset + i >= sizeof(*s))
            return false;
        ((unsigned char *)s)[offset + i] = (unsigned char)b;
    }
    return true;
}

bool table_line(struct stats_file *s, const char *line) {
    char word[32], key[32];
    uint64_t n;
    if (sscanf(line, "%31s", word) != 1 || word[0] == '#')
        return true;
    if (strcmp(word, "header") == 0)
        return sscanf(line, "header %31s %" SCNu64, key, &n) == 2 && header(s, key, n);
    if (strcmp(word, "program") == 0)
        return sscanf(line, "program %159[^\n]", s->header.program) == 1;
    if (strcmp(word, "library") == 0)
        return sscanf(line, "library %31[^\n]", s->header.library) == 1;
    if (strcmp(word, "row") == 0)
        return row(s, line);
    if (strcmp(word, "count") == 0)
        return count(s, line);
    if (strcmp(word, "exchange") == 0 || strcmp(word, "answer") == 0)
        return times(s, line, word[0] == 'e');
    if (strcmp(word, "connection") == 0)
        return connection(s, line);
    if (strcmp(word, "module") == 0)
        return module(s, line);
    if (strcmp(word, "pattern") == 0)
        return pattern(s, line);
    if (strcmp(word, "pieces") == 0)
        return pieces(s, line);
    return strcmp(word, "bytes") == 0 && bytes(s, line);
}
